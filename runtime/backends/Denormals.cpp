#include "runtime/backends/Backend.h"
#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace plait {

void setDenormalsToZero() {
#if defined(__SSE__)
  constexpr unsigned flushToZero = 0x8000, denormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | flushToZero | denormalsAreZero);
#endif
}

} // namespace plait
