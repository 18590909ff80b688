#include "TinyModel.h"
#include "runtime/executor/InitialWeights.h"
#include <algorithm>
#include <cmath>

namespace plait::test {

namespace {

uint32_t mix(int64_t step, int64_t sample, int64_t position, uint32_t salt) {
  uint32_t x = uint32_t(step) * 73856093u ^ uint32_t(sample) * 19349663u ^ uint32_t(position) * 83492791u ^ salt;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return x;
}

size_t elementsOf(const TinyShape &shape, int tensor) {
  const std::vector<int64_t> sizes = shapeOf(shape, tensor);
  return size_t(sizes[0] * sizes[1]);
}

} // namespace

std::vector<int64_t> shapeOf(const TinyShape &shape, int tensor) {
  switch (tensor) {
  case Embedding: return {shape.vocab, shape.width};
  case Up: return {shape.hidden, shape.width};
  default: return {shape.vocab, shape.hidden};
  }
}

int32_t TinyData::token(int64_t step, int64_t sample, int64_t position) const {
  return int32_t(mix(step, sample, position, 17) % uint32_t(shape.vocab));
}

int32_t TinyData::label(int64_t step, int64_t sample, int64_t position) const {
  const uint32_t x = mix(step, sample, position, 9176);
  return x % 7 == 0 ? -1 : int32_t(x / 7 % uint32_t(shape.vocab));
}

Status TinyData::load(int64_t step, int64_t firstSample, int64_t samples, int32_t *tokens, int32_t *labels) {
  for (int64_t p = 0; p < shape.seq; ++p)
    for (int64_t s = 0; s < samples; ++s) {
      if (tokens)
        tokens[p * samples + s] = token(step, firstSample + s, p);
      if (labels)
        labels[p * samples + s] = label(step, firstSample + s, p);
    }
  return success();
}

Result<int64_t> TinyData::countTargets(int64_t step) {
  int64_t count = 0;
  for (int64_t s = 0; s < shape.globalBatch; ++s)
    for (int64_t p = 0; p < shape.seq; ++p)
      count += label(step, s, p) >= 0;
  return count;
}

TinyStep differentiate(const TinyShape &shape, const Tensors &parameters, int64_t step) {
  TinyData data(shape);
  TinyStep result;
  for (int t = 0; t < TinyTensors; ++t)
    result.gradients[t].assign(elementsOf(shape, t), 0.0);
  const double scale = 1.0 / double(*data.countTargets(step));
  const int64_t E = shape.width, H = shape.hidden, V = shape.vocab;
  std::vector<double> a(H), da(H), z(V), dx(E);
  for (int64_t s = 0; s < shape.globalBatch; ++s)
    for (int64_t p = 0; p < shape.seq; ++p) {
      const int32_t label = data.label(step, s, p);
      if (label < 0)
        continue;
      const double *x = &parameters[Embedding][data.token(step, s, p) * E];
      for (int64_t h = 0; h < H; ++h) {
        double sum = 0;
        for (int64_t e = 0; e < E; ++e)
          sum += parameters[Up][h * E + e] * x[e];
        a[h] = std::tanh(sum);
      }
      double total = 0;
      for (int64_t v = 0; v < V; ++v) {
        z[v] = 0;
        for (int64_t h = 0; h < H; ++h)
          z[v] += parameters[Down][v * H + h] * a[h];
        total += std::exp(z[v]);
      }
      result.loss += (std::log(total) - z[label]) * scale;
      std::fill(da.begin(), da.end(), 0.0);
      std::fill(dx.begin(), dx.end(), 0.0);
      for (int64_t v = 0; v < V; ++v) {
        const double dz = (std::exp(z[v]) / total - (v == label)) * scale;
        for (int64_t h = 0; h < H; ++h) {
          result.gradients[Down][v * H + h] += dz * a[h];
          da[h] += dz * parameters[Down][v * H + h];
        }
      }
      for (int64_t h = 0; h < H; ++h) {
        const double dp = da[h] * (1 - a[h] * a[h]);
        for (int64_t e = 0; e < E; ++e) {
          result.gradients[Up][h * E + e] += dp * x[e];
          dx[e] += dp * parameters[Up][h * E + e];
        }
      }
      for (int64_t e = 0; e < E; ++e)
        result.gradients[Embedding][data.token(step, s, p) * E + e] += dx[e];
    }
  double squares = 0;
  for (const std::vector<double> &gradient : result.gradients)
    for (double g : gradient)
      squares += g * g;
  result.gradNorm = std::sqrt(squares);
  return result;
}

TinyStep TinyTraining::step(const TinyShape &shape, int64_t step, const RunOptions &options,
                            const std::array<bool, TinyTensors> &decays) {
  const TinyStep result = differentiate(shape, parameters, step);
  const OptimizerStep &settings = options.optimizer;
  const double rate = options.learningRate.at(step);
  const double clip = options.clipNorm > 0 ? std::min(1.0, options.clipNorm / (result.gradNorm + 1e-6)) : 1.0;
  for (int t = 0; t < TinyTensors; ++t) {
    moment1[t].resize(parameters[t].size());
    moment2[t].resize(parameters[t].size());
    const double decay = decays[t] ? settings.weightDecay : 0;
    for (size_t i = 0; i < parameters[t].size(); ++i) {
      double &w = parameters[t][i];
      const double g = result.gradients[t][i] * clip;
      if (settings.kind == OptimizerStep::Sgd) {
        w -= rate * (g + decay * w);
        continue;
      }
      double &m = moment1[t][i], &v = moment2[t][i];
      m = settings.beta1 * m + (1 - settings.beta1) * g;
      v = settings.beta2 * v + (1 - settings.beta2) * g * g;
      const double mHat = m / (1 - std::pow(settings.beta1, step)), vHat = v / (1 - std::pow(settings.beta2, step));
      w -= rate * decay * w;
      w -= rate * mHat / (std::sqrt(vHat) + settings.epsilon);
    }
  }
  return result;
}

Tensors initialTensors(const TinyShape &shape, uint64_t seed) {
  pb::Init init;
  init.set_kind(pb::Init::NORMAL);
  init.set_std(0.5);
  Tensors tensors;
  for (int t = 0; t < TinyTensors; ++t) {
    std::vector<float> values(elementsOf(shape, t));
    initialElements(init, seed, uint32_t(t), 0, values);
    tensors[t].assign(values.begin(), values.end());
  }
  return tensors;
}

} // namespace plait::test
