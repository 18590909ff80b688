// Prints the table of rules, from which docs/rules.md is made.
#include "cost_model/problem/Rules.h"
#include <iostream>

int main() { std::cout << plait::rulesMarkdown(); }
