# SPDX-License-Identifier: MIT
"""The sections of the pages of results: kind of file, title, how to print it, how it was measured."""

from results.cpu import cpu_section
from results.gpu import (
    ampere_gradients_section,
    call_section,
    crossover_section,
    gpu_section,
    ladder_section,
    sampled_section,
    transformers_section,
)
from results.workbench import (
    agreement_section,
    clean_runs_section,
    dent_aa_section,
    dent_gpu_clock_section,
    dent_loaded_section,
    executors_cell_section,
    executors_faults_section,
    executors_speed_section,
    loop_aa_section,
    sass_section,
    suites_import_section,
    suites_same_section,
)

SECTIONS = [
    (
        "attention_gpu",
        "GPU: attention against PyTorch's backends",
        gpu_section,
        (
            "Kernel time: a CUDA graph that holds the call many times, divided by their number, median over the samples. `cold`: inputs "
            "rotate through more memory than the L2 cache holds. The ratio is the time of PyTorch's fastest column over flashmoe's."
        ),
    ),
    ("attention_call", "GPU: a call from Python", call_section, "The newest measurement. The calls under other tables were measured in the same run as their table."),
    (
        "attention_many_heads",
        "GPU: many heads and long rows",
        gpu_section,
        "As above, for B=4 H=48 D=128 causal, a shape with published figures.",
    ),
    (
        "attention_window",
        "GPU: windows",
        gpu_section,
        (
            "As above, for causal attention to the last 1,024 keys; TFLOP/s count visible keys only. FlexAttention is compiled for the mask, "
            "FlashAttention gets the window as an argument, and cuDNN as a mask tensor: PyTorch has no way to ask for cuDNN's own windows."
        ),
    ),
    (
        "attention_scores",
        "GPU: softcap and ALiBi",
        gpu_section,
        (
            "As above, for causal attention with a softcap of 30, and with ALiBi slopes. FlexAttention, compiled for this with the blocks of the causal mask, is the "
            "only other backend that supports them."
        ),
    ),
    (
        "attention_spans",
        "GPU: documents and prefixes",
        gpu_section,
        (
            "As above, for 16 documents, causal within each, of random lengths or of one length, and for a prefix of a quarter of the keys that all rows see; "
            "TFLOP/s count visible keys only. FlexAttention is compiled for the mask and gets its blocks; cuDNN gets the mask as a tensor."
        ),
    ),
    (
        "attention_varlen",
        "GPU: sequences of different lengths",
        gpu_section,
        (
            "As above, for 16,384 tokens in packed sequences of random lengths (8 of 27 to 5,294, 64 of 4 to 1,499), causal within each; TFLOP/s count visible keys "
            "only. FlashAttention is PyTorch's `varlen_attn`. cuDNN's ragged kernels are those that PyTorch runs for nested tensors; their time is that of the "
            "profiler, since a call takes some 50 ms on the host."
        ),
    ),
    (
        "attention_tensors",
        "GPU: mask tensors",
        gpu_section,
        (
            "As above, for a causal mask that is given as a tensor of all pairs, the same for all heads: as a bool, and as values of the "
            "inputs' type that are added, -inf where the mask hides."
        ),
    ),
    (
        "attention_masks_backward",
        "GPU: gradients under masks",
        gpu_section,
        (
            "Gradients of q, k and v by autograd, calls one after the other; TFLOP/s count 10 D operations for each visible key of a row. Windows of 1,024 keys, softcap and ALiBi, and "
            "mask tensors, as above."
        ),
    ),
    (
        "gradients_spans",
        "GPU: gradients of documents and prefixes",
        gpu_section,
        "As above.",
    ),
    (
        "gradients_varlen",
        "GPU: gradients of sequences of different lengths",
        gpu_section,
        "As above.",
    ),
    (
        "transformers",
        "GPU: a model of transformers",
        transformers_section,
        (
            "`flashmoe/benches/transformers_gpu.py`: a Llama of 1.2 billion parameters in bf16, built from its configuration, with flashmoe's attention and with "
            "transformers' `sdpa`. The time is all that the caller waits for."
        ),
    ),
    (
        "attention_hopper",
        "GPU: large shapes against cuDNN",
        sampled_section,
        "The kernel that dispatch chooses (`hopper_forward`), 5 samples for each shape, each after 25 ms of unmeasured replays.",
    ),
    (
        "attention_backward",
        "GPU: gradients",
        sampled_section,
        (
            "`hopper_backward` with the preparing and finishing kernels, 4 samples for each shape. TFLOP/s count 5/2 of the forward's operations. "
            "The file also has the deterministic variant."
        ),
    ),
    (
        "attention_ampere",
        "GPU: the kernel for older GPUs, on this one",
        sampled_section,
        (
            "`ampere_forward` uses nothing newer than compute capability 8.0. It was measured on a Hopper GPU, where dispatch does "
            "not choose it; it was not measured on an A100 or an L4 yet."
        ),
    ),
    (
        "gradients_ampere",
        "GPU: gradients by the kernel for older GPUs, on this one",
        ampere_gradients_section,
        (
            "`ampere_backward` with the preparing and finishing kernels, 4 samples for each shape, in the variants that dispatch takes on an A100. They "
            "were measured on a Hopper GPU, where dispatch takes `hopper_backward`; they were not measured on an A100 or an L4 yet. "
            "The file also has slower variants, and `hopper_backward` in the same run."
        ),
    ),
    ("attention_crossover", "GPU: does dispatch choose well?", crossover_section, ""),
    (
        "attention_ladder",
        "GPU: the rungs of the ladder",
        ladder_section,
        (
            "`dent/examples/attention-ladder` ([what it is](attention-ladder.md)). Warm: a graph of 64 launches, median of 5 instantiations. Cold: one "
            "call after a flush of the L2 cache, median of 60."
        ),
    ),
    (
        "attention_cpu",
        "CPU: attention against PyTorch",
        cpu_section,
        (
            "Both libraries in one process with the same number of threads, alternating in random order. The ratio is PyTorch's time over "
            "flashmoe's, with a bootstrap interval over the rounds."
        ),
    ),
    (
        "masks_cpu",
        "CPU: windows, padding and packed sequences against PyTorch",
        cpu_section,
        (
            "Sampled as above. PyTorch's time is that of the faster of two: a call for each sequence, and one call with a bool mask that "
            "was made before, the only way that it has for a window. GFLOP/s count visible keys only. Padded sequences are as long as the longest of them."
        ),
    ),
    (
        "gradients_cpu",
        "CPU: gradients against PyTorch",
        cpu_section,
        (
            "The backward pass alone, sampled as above. PyTorch's time is that of the faster of two: the kernel that it picks, and its plain "
            "products, which keep the whole matrix of weights from the forward pass. GFLOP/s count 5/2 of the forward's operations."
        ),
    ),
    (
        "dent_aa",
        "dent: are its verdicts right?",
        dent_aa_section,
        "`dent_bench aa` compares a program with itself, and with one that is slower by a known share.",
    ),
    (
        "dent_loaded",
        "dent: are its verdicts right on a busy machine?",
        dent_loaded_section,
        (
            "`dent_bench loaded` takes a kernel through the performance gate against itself, and against itself with a planted slowdown, next to "
            "other programs on every processor. Of 100 comparisons of equals at most 5 may be FASTER or SLOWER, of 100 with the slowdown at most 5 "
            "FASTER or SAME."
        ),
    ),
    (
        "dent_gpu_clock",
        "dent: short kernels on a GPU",
        dent_gpu_clock_section,
        (
            "`dent/benches/gpu_clock.py` compares a short kernel with itself and with slower ones. Their true times are measured "
            "without dent, in long graphs of calls. The last columns show what calls between two events would have measured."
        ),
    ),
    (
        "suites_import",
        "dent: published tasks",
        suites_import_section,
        "`dent import` of whole suites ([suites](suites.md)), tables by `dent/benches/suites.py imports`. GiB: the most memory that measuring the largest shape may take.",
    ),
    (
        "suites_same",
        "dent: a published task against itself",
        suites_same_section,
        (
            "Tasks of KernelBench, levels 1 and 2, imported with `--memory-gib 1`, and measured by "
            "`dent suite run` with their own reference as the candidate: two equal programs, whose verdict should be SAME."
        ),
    ),
    ("loop_aa", "dent: does the loop keep changes that are no improvement?", loop_aa_section, ""),
    (
        "executors_speed",
        "dent: what do other machines cost, and what do they gain?",
        executors_speed_section,
        "`dent/benches/executors.py --only overhead slots`, with a real sshd and a real Slurm of two nodes on one machine.",
    ),
    (
        "executors_cell",
        "dent: what does the sandbox cost?",
        executors_cell_section,
        "`dent/benches/executors_cell.py`: bubblewrap as dent uses it for a candidate's worker, and the candidate's time per call.",
    ),
    (
        "executors_faults",
        "dent: does Slurm lose or repeat a result?",
        executors_faults_section,
        (
            "`dent/benches/executors.py --only faults kills` on a real cluster of two nodes on one machine. Every failure is real: SIGKILL, "
            "`scontrol requeue`, a node that is lost with all that ran on it."
        ),
    ),
    ("model_agreement", "The model of a GPU: does it compute what a GPU computes?", agreement_section, ""),
    ("model_clean_runs", "The model of a GPU: false alarms", clean_runs_section, ""),
    ("model_sass", "The model of a GPU: its price on a real one", sass_section, ""),
]
