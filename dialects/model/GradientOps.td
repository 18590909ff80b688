// Gradient ops: made by --model-differentiate; they have no gradients of their own.
include "dialects/model/ComputeBase.td"

// A gradient is never kept for another phase by policy: what crosses is found by slicing.
class Model_GradientOp<string mnemonic, string kernelCase, string rule, list<string> methods = []>
    : Model_ComputeOp<mnemonic, kernelCase, rule, "Costly", methods>;

def Model_LinearGradInputOp : Model_GradientOp<"linear_grad_input", "Gemm",
    "dy[s b n], w[n k] -> dx[s b k] | sum n", ["launchAttributes"]> {
  let summary = "dx = dy w";
  let detail = [{
    ```mlir
    %dx = model.linear_grad_input %dy, %w : (tensor<?x?x32xf32>, tensor<32x96xf32>) -> tensor<?x?x96xf32>
    ```}];
  let inputs = (ins Model_Float:$dy, Model_Float:$w);
  let results = (outs Model_Float:$dx);
}

def Model_LinearGradWeightOp : Model_GradientOp<"linear_grad_weight", "Gemm",
    "dy[s b n], x[s b k] -> dw[n k] | sum s b", ["launchAttributes"]> {
  let summary = "dw = dy^T x";
  let detail = [{
    ```mlir
    %dw = model.linear_grad_weight %dy, %x : (tensor<?x?x32xf32>, tensor<?x?x96xf32>) -> tensor<32x96xf32>
    ```}];
  let inputs = (ins Model_Float:$dy, Model_Float:$x);
  let results = (outs Model_Float:$dw);
}

def Model_BiasGradOp : Model_GradientOp<"bias_grad", "BiasGrad", "dy[s b n] -> db[n] | sum s b"> {
  let summary = "Sum over rows";
  let detail = [{
    ```mlir
    %db = model.bias_grad %dy : (tensor<?x?x32xf32>) -> tensor<32xf32>
    ```}];
  let inputs = (ins Model_Float:$dy);
  let results = (outs Model_Float:$db);
}

def Model_RmsNormGradOp : Model_GradientOp<"rms_norm_grad", "RmsNormGrad",
    "dy[s b e], x[s b e], w[e], rstd[s b] -> dx[s b e] | whole e", ["rule"]> {
  let summary = "Gradient of rms_norm for its input";
  let detail = [{
    By heads: `dy[s b (h d)], x[s b (h d)], w[d], rstd[s b h] -> dx[s b (h d)] | whole d`.

    ```mlir
    %dx = model.rms_norm_grad %dy, %x, %w, %rstd
        : (tensor<?x?x96xf32>, tensor<?x?x96xf32>, tensor<96xf32>, tensor<?x?xf32>) -> tensor<?x?x96xf32>
    ```}];
  let inputs = (ins Model_Float:$dy, Model_Float:$x, Model_Float:$w, Model_Float:$rstd);
  let results = (outs Model_Float:$dx);
}

def Model_RmsNormGradWeightOp : Model_GradientOp<"rms_norm_grad_weight", "RmsNormGradWeight",
    "dy[s b e], x[s b e], rstd[s b] -> dw[e] | sum s b, whole e", ["rule"]> {
  let summary = "Gradient of rms_norm for its weight";
  let detail = [{
    By heads: `dy[s b (h d)], x[s b (h d)], rstd[s b h] -> dw[d] | sum s b h, whole d`.

    ```mlir
    %dw = model.rms_norm_grad_weight %dy, %x, %rstd
        : (tensor<?x?x96xf32>, tensor<?x?x96xf32>, tensor<?x?xf32>) -> tensor<96xf32>
    ```}];
  let inputs = (ins Model_Float:$dy, Model_Float:$x, Model_Float:$rstd);
  let results = (outs Model_Float:$dw);
}

def Model_LayerNormGradOp : Model_GradientOp<"layer_norm_grad", "LayerNormGrad",
    "dy[s b e], x[s b e], w[e], mean[s b], rstd[s b] -> dx[s b e] | whole e"> {
  let summary = "Gradient of layer_norm for its input";
  let detail = [{
    ```mlir
    %dx = model.layer_norm_grad %dy, %x, %w, %mean, %rstd
        : (tensor<?x?x96xf32>, tensor<?x?x96xf32>, tensor<96xf32>, tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?x96xf32>
    ```}];
  let inputs = (ins Model_Float:$dy, Model_Float:$x, Model_Float:$w, Model_Float:$mean, Model_Float:$rstd);
  let results = (outs Model_Float:$dx);
}

def Model_LayerNormGradWeightOp : Model_GradientOp<"layer_norm_grad_weight", "LayerNormGradWeight",
    "dy[s b e], x[s b e], mean[s b], rstd[s b] -> dw[e], db[e] | sum s b, whole e"> {
  let summary = "Gradients of layer_norm for weight and bias";
  let detail = [{
    ```mlir
    %dw, %db = model.layer_norm_grad_weight %dy, %x, %mean, %rstd
        : (tensor<?x?x96xf32>, tensor<?x?x96xf32>, tensor<?x?xf32>, tensor<?x?xf32>) -> (tensor<96xf32>, tensor<96xf32>)
    ```}];
  let inputs = (ins Model_Float:$dy, Model_Float:$x, Model_Float:$mean, Model_Float:$rstd);
  let results = (outs Model_Float:$dw, Model_Float:$db);
}

def Model_AttentionGradOp : Model_GradientOp<"attention_grad", "AttentionGrad",
    "dout[s b (g r d)], q[s b (g r d)], k[t b (g d)], v[t b (g d)], o[s b (g r d)], lse[s b (g r)] "
    "-> dq[s b (g r d)], dk[t b (g d)], dv[t b (g d)] | whole t d", ["factorSize", "launchAttributes", "checkAttributes"]> {
  let summary = "Gradient of attention";
  let detail = [{
    `dk` and `dv` sum over the query heads that share a key/value head.

    ```mlir
    %dq, %dk, %dv = model.attention_grad %dout, %q, %k, %v, %o, %lse {heads = 6 : i64, kv_heads = 2 : i64,
        head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x?x96xf32>, tensor<?x?x96xf32>, tensor<?x?x32xf32>,
        tensor<?x?x32xf32>, tensor<?x?x96xf32>, tensor<?x?x6xf32>)
        -> (tensor<?x?x96xf32>, tensor<?x?x32xf32>, tensor<?x?x32xf32>)
    ```}];
  let inputs = (ins Model_Float:$dout, Model_Float:$q, Model_Float:$k, Model_Float:$v, Model_Float:$o, Model_Float:$lse,
      Model_Positive:$heads, Model_Positive:$kv_heads, Model_Positive:$head_dim, Model_F64:$scale,
      DefaultValuedAttr<BoolAttr, "true">:$causal,
      DefaultValuedAttr<ConfinedAttr<Model_I64, [IntNonNegative]>, "0">:$window);
  let results = (outs Model_Float:$dq, Model_Float:$dk, Model_Float:$dv);
}

def Model_ActivationGradOp : Model_PointwiseOp<"activation_grad", "dy[... i], x[... i] -> dx[... i]", [], "Costly"> {
  let summary = "Gradient of activation";
  let detail = [{
    ```mlir
    %dx = model.activation_grad silu %dy, %x : (tensor<?x?x32xf32>, tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
    ```}];
  let inputs = (ins Model_Float:$dy, Model_Float:$x, Model_ActivationKind:$kind);
  let results = (outs Model_Float:$dx);
  let assemblyFormat = "$kind operands attr-dict `:` functional-type(operands, results)";
}

def Model_GatedActivationGradOp : Model_PointwiseOp<"gated_activation_grad",
    "dy[... i], gate[... i], up[... i] -> dgate[... i], dup[... i]", [], "Costly"> {
  let summary = "Gradients of gated_activation";
  let detail = [{
    ```mlir
    %dgate, %dup = model.gated_activation_grad silu %dy, %gate, %up
        : (tensor<?x?x32xf32>, tensor<?x?x32xf32>, tensor<?x?x32xf32>) -> (tensor<?x?x32xf32>, tensor<?x?x32xf32>)
    ```}];
  let inputs = (ins Model_Float:$dy, Model_Float:$gate, Model_Float:$up, Model_ActivationKind:$kind);
  let results = (outs Model_Float:$dgate, Model_Float:$dup);
  let assemblyFormat = "$kind operands attr-dict `:` functional-type(operands, results)";
}

def Model_EmbeddingGradOp : Model_GradientOp<"embedding_grad", "EmbeddingGrad",
    "dy[s b e], tokens[s b] -> dw[v e] | sum s b, free v", ["factorSize", "launchAttributes"]> {
  let summary = "Gradient of embedding; `rows` is the size of the table";
  let detail = [{
    ```mlir
    %dw = model.embedding_grad %dy, %tokens {rows = 509 : i64}
        : (tensor<?x?x96xf32>, tensor<?x?xi32>) -> tensor<509x96xf32>
    ```}];
  let inputs = (ins Model_Float:$dy, Model_Index:$tokens, Model_Positive:$rows);
  let results = (outs Model_Float:$dw);
}

def Model_PositionEmbeddingGradOp : Model_GradientOp<"position_embedding_grad", "PositionEmbeddingGrad",
    "dy[s b e] -> dw[p e] | sum s b, free p, whole p", ["factorSize", "launchAttributes"]> {
  let summary = "Gradient of position_embedding for its table of `rows` positions";
  let detail = [{
    ```mlir
    %dw = model.position_embedding_grad %dy {rows = 64 : i64} : (tensor<?x?x96xf32>) -> tensor<64x96xf32>
    ```}];
  let inputs = (ins Model_Float:$dy, Model_Positive:$rows);
  let results = (outs Model_Float:$dw);
}

def Model_CrossEntropyGradOp : Model_GradientOp<"cross_entropy_grad", "CrossEntropyGrad",
    "logits[s b v], lse[s b], labels[s b], scale[1] -> dlogits[s b v]", ["launchAttributes"]> {
  let summary = "Gradient of cross entropy for the logits";
  let detail = [{
    (exp(logit - lse) - [label]) * scale; zero rows where the label is negative.

    ```mlir
    %d = model.cross_entropy_grad %logits, %lse, %labels, %scale
        : (tensor<?x?x509xf32>, tensor<?x?xf32>, tensor<?x?xi32>, tensor<1xf32>) -> tensor<?x?x509xf32>
    ```}];
  let inputs = (ins Model_Float:$logits, Model_Float:$lse, Model_Index:$labels, Model_Float:$scale);
  let results = (outs Model_Float:$dlogits);
}
