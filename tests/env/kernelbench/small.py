"""The problems at sizes that a core computes in a moment: small.py writes problems_small/ from problems/.

A small problem is the large one with other constants; nothing else differs.
"""
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
CONSTANTS = {
    "level1/1_gelu_tanh": "ROWS, COLUMNS = 37, 129",
    "level1/2_weighted_sum_relu": "ROWS, COLUMNS = 33, 70",
    "level1/3_row_softmax": "ROWS, COLUMNS = 24, 300",
    "level1/4_layer_norm": "BATCH, LENGTH, WIDTH = 2, 5, 320",
    "level1/5_rms_norm_channels": "BATCH, CHANNELS, HEIGHT, WIDTH = 2, 12, 9, 15",
    "level1/6_matmul": "M, K, N = 70, 96, 130",
    "level1/7_matmul_tall_transposed": "M, K, N = 300, 64, 48",
    "level1/8_sum_middle": "BATCH, MIDDLE, WIDTH = 3, 75, 140",
    "level1/9_conv_depthwise": "BATCH, CHANNELS, HEIGHT, WIDTH = 2, 6, 19, 23",
    "level1/10_max_pool": "BATCH, CHANNELS, HEIGHT, WIDTH = 2, 5, 21, 18",
    "level1/11_cumsum_rows": "ROWS, COLUMNS = 9, 700",
    "level1/12_smooth_l1_loss": "ROWS, COLUMNS = 41, 130",
    "level1/13_argmax_rows": "ROWS, COLUMNS = 21, 333",
    "level1/14_wide_softmax": "ROWS, COLUMNS = 2, 65536",
    "level2/1_linear_gelu_scale": "BATCH, IN_FEATURES, OUT_FEATURES = 50, 72, 90",
    "level2/2_conv_relu_group_norm": "BATCH, IN_CHANNELS, OUT_CHANNELS, HEIGHT, WIDTH = 2, 3, 16, 13, 11",
    "level2/3_linear_silu_row_sum": "BATCH, IN_FEATURES, OUT_FEATURES = 41, 64, 100",
    "level2/4_add_layer_norm_relu": "ROWS, WIDTH = 19, 192",
    "level2/5_scale_bias_causal_softmax": "BATCH, HEADS, LENGTH = 2, 3, 45",
    "level2/6_batch_norm_leaky_mean": "BATCH, CHANNELS, HEIGHT, WIDTH = 4, 6, 7, 9",
    "level2/7_gated_linear": "BATCH, IN_FEATURES, OUT_FEATURES = 37, 80, 66",
    "level2/8_always_zero": "BATCH, IN_FEATURES, OUT_FEATURES = 16, 32, 48",
    "level2/9_redundant_linear_sum": "BATCH, IN_FEATURES, OUT_FEATURES = 16, 32, 48",
    "level3/1_three_layers": "BATCH, WIDTH, HIDDEN, CLASSES = 21, 48, 70, 33",
    "level3/2_causal_attention": "BATCH, LENGTH, WIDTH, HEADS = 2, 40, 64, 4",
    "level3/3_residual_block": "BATCH, CHANNELS, HEIGHT, WIDTH = 2, 8, 10, 7",
    "level3/4_gru_cell": "BATCH, WIDTH, HIDDEN = 18, 40, 24",
    "level3/5_squeeze_excite": "BATCH, CHANNELS, SQUEEZED, HEIGHT, WIDTH = 3, 16, 4, 6, 9",
    "level4/1_small_language_model": "BATCH, LENGTH, WIDTH, HEADS, LAYERS, VOCABULARY = 2, 24, 32, 4, 2, 96",
    "level4/2_patch_classifier": "BATCH, SIDE, PATCH, WIDTH, HEADS, LAYERS, CLASSES = 3, 32, 8, 48, 3, 2, 10",
}


def small(name, source):
    """The problem's source with the constants of CONSTANTS[name]."""
    constants = CONSTANTS[name]
    names = constants.split(" = ")[0]
    text, found = re.subn(rf"(?m)^{re.escape(names)} = .*$", constants, source)
    if found != 1:
        raise ValueError(f"{name}: {found} lines begin with {names}")
    return text


def main():
    for name in CONSTANTS:
        path = HERE / "problems_small" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(small(name, (HERE / "problems" / f"{name}.py").read_text()))


if __name__ == "__main__":
    main()
