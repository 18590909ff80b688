// Forward ops.
include "dialects/model/ComputeBase.td"

def Model_LinearOp : Model_ComputeOp<"linear", "Gemm", "x[s b k], w[n k] -> y[s b n] | sum k", "Costly",
                                     ["launchAttributes", "differentiate"]> {
  let summary = "y = x w^T";
  let detail = [{
    ```mlir
    %q = model.linear %x, %wq {segment = "attention"} : (tensor<?x?x96xf32>, tensor<32x96xf32>) -> tensor<?x?x32xf32>
    ```}];
  let inputs = (ins Model_Float:$x, Model_Float:$w);
  let results = (outs Model_Float:$y);
}

def Model_BiasAddOp : Model_PointwiseOp<"bias_add", "x[s b n], b[n] -> y[s b n]", ["differentiate"]> {
  let summary = "Adds a vector to every row";
  let detail = [{
    ```mlir
    %1 = model.bias_add %0, %bq {segment = "attention"} : (tensor<?x?x32xf32>, tensor<32xf32>) -> tensor<?x?x32xf32>
    ```}];
  let inputs = (ins Model_Float:$x, Model_Float:$b);
  let results = (outs Model_Float:$y);
}

def Model_RmsNormOp : Model_ComputeOp<"rms_norm", "RmsNorm",
    "x[s b e], w[e] -> y[s b e], rstd[s b] | whole e, stat rstd", "Cheap", ["rule", "launchAttributes", "differentiate"]> {
  let summary = "Root-mean-square normalisation";
  let detail = [{
    y = w * x * rstd with rstd = 1 / sqrt(mean(x^2) + eps). A weight shorter than a row normalises each head by itself:
    `x[s b (h d)], w[d] -> y[s b (h d)], rstd[s b h] | whole d, stat rstd`.

    ```mlir
    %y, %rstd = model.rms_norm %x, %w {eps = 1.0e-05 : f64}
        : (tensor<?x?x96xf32>, tensor<96xf32>) -> (tensor<?x?x96xf32>, tensor<?x?xf32>)
    ```}];
  let inputs = (ins Model_Float:$x, Model_Float:$w, Model_F64:$eps);
  let results = (outs Model_Float:$y, Model_Float:$rstd);
}

def Model_LayerNormOp : Model_ComputeOp<"layer_norm", "LayerNorm",
    "x[s b e], w[e], b[e] -> y[s b e], mean[s b], rstd[s b] | whole e, stat mean rstd", "Cheap",
    ["launchAttributes", "differentiate"]> {
  let summary = "Layer normalisation with weight and bias";
  let detail = [{
    ```mlir
    %y, %mean, %rstd = model.layer_norm %x, %w, %b {eps = 1.0e-05 : f64}
        : (tensor<?x?x96xf32>, tensor<96xf32>, tensor<96xf32>) -> (tensor<?x?x96xf32>, tensor<?x?xf32>, tensor<?x?xf32>)
    ```}];
  let inputs = (ins Model_Float:$x, Model_Float:$w, Model_Float:$b, Model_F64:$eps);
  let results = (outs Model_Float:$y, Model_Float:$mean, Model_Float:$rstd);
}

def Model_RopeOp : Model_ComputeOp<"rope", "Rope", "x[s b (h d)] -> y[s b (h d)] | whole d", "Cheap",
                                   ["factorSize", "launchAttributes", "checkAttributes", "differentiate"]> {
  let summary = "Rotary position embedding";
  let detail = [{
    Rotates pairs of the first `rotary_dim` elements of every head by position * inv_freq; sine and cosine are
    multiplied by `factor`. Not interleaved: element j pairs with j + rotary_dim/2. `inverse` rotates back, which is
    the gradient.

    ```mlir
    %r = model.rope %q {head_dim = 4 : i64, rotary_dim = 4 : i64, inv_freq = array<f64: 1.0, 0.01>, segment = "attention"}
        : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
    ```}];
  let inputs = (ins Model_Float:$x, Model_Positive:$head_dim, Model_Positive:$rotary_dim, DenseF64ArrayAttr:$inv_freq,
      DefaultValuedAttr<BoolAttr, "false">:$interleaved, DefaultValuedAttr<Model_F64, "1.0">:$factor,
      DefaultValuedAttr<BoolAttr, "false">:$inverse);
  let results = (outs Model_Float:$y);
}

def Model_AttentionOp : Model_ComputeOp<"attention", "Attention",
    "q[s b (g r d)], k[t b (g d)], v[t b (g d)] -> o[s b (g r d)], lse[s b (g r)] | whole t d, stat lse", "Costly",
    ["factorSize", "launchAttributes", "checkAttributes", "differentiate"]> {
  let summary = "Softmax attention with grouped key/value heads";
  let detail = [{
    Query heads are ordered by key/value head: head j reads key/value head j / (heads / kv_heads). `window` 0 is none;
    otherwise position s sees key t only if s - t < window. `lse` is the log-sum-exp of the scores.

    ```mlir
    %o, %lse = model.attention %q, %k, %v {heads = 6 : i64, kv_heads = 2 : i64, head_dim = 16 : i64, scale = 0.25 : f64,
        segment = "attention"} : (tensor<?x?x96xf32>, tensor<?x?x32xf32>, tensor<?x?x32xf32>)
        -> (tensor<?x?x96xf32>, tensor<?x?x6xf32>)
    ```}];
  let inputs = (ins Model_Float:$q, Model_Float:$k, Model_Float:$v, Model_Positive:$heads, Model_Positive:$kv_heads,
      Model_Positive:$head_dim, Model_F64:$scale, DefaultValuedAttr<BoolAttr, "true">:$causal,
      DefaultValuedAttr<ConfinedAttr<Model_I64, [IntNonNegative]>, "0">:$window);
  let results = (outs Model_Float:$o, Model_Float:$lse);
}

def Model_ActivationOp : Model_PointwiseOp<"activation", "x[... i] -> y[... i]", ["differentiate"]> {
  let summary = "Elementwise non-linearity";
  let detail = [{
    ```mlir
    %1 = model.activation gelu_tanh %0 {segment = "mlp"} : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
    ```}];
  let inputs = (ins Model_Float:$x, Model_ActivationKind:$kind);
  let results = (outs Model_Float:$y);
  let assemblyFormat = "$kind operands attr-dict `:` functional-type(operands, results)";
}

def Model_GatedActivationOp : Model_PointwiseOp<"gated_activation", "gate[... i], up[... i] -> y[... i]",
                                                ["differentiate"]> {
  let summary = "y = activation(gate) * up";
  let detail = [{
    ```mlir
    %2 = model.gated_activation silu %gate, %up {segment = "mlp"}
        : (tensor<?x?x32xf32>, tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
    ```}];
  let inputs = (ins Model_Float:$gate, Model_Float:$up, Model_ActivationKind:$kind);
  let results = (outs Model_Float:$y);
  let assemblyFormat = "$kind operands attr-dict `:` functional-type(operands, results)";
}

// Kept where other pointwise results are recomputed: its operand is often a partial sum over the tensor axis, which
// would have to be reduced a second time.
def Model_AddOp : Model_PointwiseOp<"add", "a[...], c[...] -> y[...]", ["additive", "differentiate"], "Costly"> {
  let summary = "Elementwise sum";
  let detail = [{
    ```mlir
    %2 = model.add %x, %1 : (tensor<?x?x96xf32>, tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
    ```}];
  let inputs = (ins Model_Float:$a, Model_Float:$c);
  let results = (outs Model_Float:$y);
}

def Model_MulOp : Model_PointwiseOp<"mul", "a[...], c[...] -> y[...]", ["differentiate"]> {
  let summary = "Elementwise product";
  let detail = [{
    ```mlir
    %2 = model.mul %0, %1 : (tensor<?x?x96xf32>, tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
    ```}];
  let inputs = (ins Model_Float:$a, Model_Float:$c);
  let results = (outs Model_Float:$y);
}

def Model_ScaleOp : Model_PointwiseOp<"scale", "x[...] -> y[...]", ["additive", "differentiate"]> {
  let summary = "y = factor * x";
  let detail = [{
    ```mlir
    %1 = model.scale %0 {factor = 2.0 : f64} : (tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
    ```}];
  let inputs = (ins Model_Float:$x, Model_F64:$factor);
  let results = (outs Model_Float:$y);
}

def Model_EmbeddingOp : Model_ComputeOp<"embedding", "Embedding", "tokens[s b], w[v e] -> y[s b e] | sum v", "Cheap",
                                        ["launchAttributes", "differentiate"]> {
  let summary = "Rows of a table by token id";
  let detail = [{
    Split over `v`, a part gives zero rows for ids that it does not hold, so results add up.

    ```mlir
    %y = model.embedding %tokens, %w {segment = "embedding"} : (tensor<?x?xi32>, tensor<509x96xf32>) -> tensor<?x?x96xf32>
    ```}];
  let inputs = (ins Model_Index:$tokens, Model_Float:$w);
  let results = (outs Model_Float:$y);
}

def Model_PositionEmbeddingOp : Model_ComputeOp<"position_embedding", "PositionEmbedding",
    "x[s b e], w[p e] -> y[s b e] | whole p", "Cheap", ["launchAttributes", "differentiate"]> {
  let summary = "Adds a learned vector per position";
  let detail = [{
    ```mlir
    %y = model.position_embedding %x, %w {segment = "embedding"} : (tensor<?x?x96xf32>, tensor<64x96xf32>) -> tensor<?x?x96xf32>
    ```}];
  let inputs = (ins Model_Float:$x, Model_Float:$w);
  let results = (outs Model_Float:$y);
}

def Model_RowMaxOp : Model_ComputeOp<"row_max", "RowMax", "logits[s b v] -> m[s b] | max v, stat m", "Cheap", []> {
  let summary = "Maximum of each row of logits";
  let detail = [{
    First of the four ops of cross entropy. Their reductions over `v` are what a split vocabulary communicates.

    ```mlir
    %m = model.row_max %logits {segment = "head"} : (tensor<?x?x509xf32>) -> tensor<?x?xf32>
    ```}];
  let inputs = (ins Model_Float:$logits);
  let results = (outs Model_Float:$m);
}

def Model_RowSumExpOp : Model_ComputeOp<"row_sum_exp", "RowSumExp",
    "logits[s b v], m[s b] -> z[s b] | sum v, stat z", "Cheap", []> {
  let summary = "Sum of exp(logit - m) of each row";
  let detail = [{
    ```mlir
    %z = model.row_sum_exp %logits, %m {segment = "head"} : (tensor<?x?x509xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    ```}];
  let inputs = (ins Model_Float:$logits, Model_Float:$m);
  let results = (outs Model_Float:$z);
}

def Model_RowPickOp : Model_ComputeOp<"row_pick", "RowPick",
    "logits[s b v], labels[s b] -> t[s b] | sum v, stat t", "Cheap", ["launchAttributes"]> {
  let summary = "The label's logit of each row";
  let detail = [{
    ```mlir
    %t = model.row_pick %logits, %labels {segment = "head"} : (tensor<?x?x509xf32>, tensor<?x?xi32>) -> tensor<?x?xf32>
    ```}];
  let inputs = (ins Model_Float:$logits, Model_Index:$labels);
  let results = (outs Model_Float:$t);
}

def Model_CrossEntropyOp : Model_ComputeOp<"cross_entropy", "CrossEntropy",
    "m[s b], z[s b], t[s b], labels[s b] -> lse[s b], loss[1] | sum s b, stat lse", "Always",
    ["checkAttributes", "differentiate"]> {
  let summary = "Sum over rows of log-sum-exp minus the label's logit";
  let detail = [{
    Rows with a negative label count nothing. Operands come from `row_max`, `row_sum_exp` and `row_pick` of the same
    logits, to which the gradient goes directly. The loss accumulates; hence no variant computes this op twice.

    ```mlir
    %lse, %loss = model.cross_entropy %m, %z, %t, %labels {segment = "head"}
        : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<1xf32>)
    ```}];
  let inputs = (ins Model_Float:$m, Model_Float:$z, Model_Float:$t, Model_Index:$labels);
  let results = (outs Model_Float:$lse, Model_Float:$loss);
}

def Model_GenericOp : Model_Op<"generic", [Pure, DeclareOpInterfaceMethods<ComputeOpInterface,
                                                 ["rule", "checkAttributes", "kernel", "keep"]>]> {
  let summary = "Any einsum, with the rule as text";
  let description = [{
    For tests of rules and projections and for ops that have no class. It has no gradient.

    ```mlir
    %y = model.generic "x[s b c], w[c o] -> y[s b o] | sum c" (%x, %w) kernel "gemm"
        : (tensor<?x?x8xf32>, tensor<8x4xf32>) -> tensor<?x?x4xf32>
    ```
  }];
  let arguments = (ins StrAttr:$rule_text, Variadic<AnyRankedTensor>:$tensors, OptionalAttr<StrAttr>:$kernel_name,
      DefaultValuedStrAttr<StrAttr, "stream">:$segment);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    $rule_text `(` $tensors `)` (`kernel` $kernel_name^)? attr-dict `:` functional-type($tensors, $outputs)
  }];
}
