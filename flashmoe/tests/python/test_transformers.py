# SPDX-License-Identifier: MIT
"""Models of transformers, built small from their configurations: ours against `eager` in float64."""

import copy
import inspect
from collections import Counter

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
transformers = pytest.importorskip(
    "transformers",
    minversion="5.0",
    reason="transformers is not installed; scripts/python-env can install it",
)
if not hasattr(torch.library, "register_autograd"):
    pytest.skip("gradients need PyTorch 2.4 or newer", allow_module_level=True)
from flashmoe_science.transformers import NAME, _attention, register

SMALL = {"vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
GROUPED = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256}
SIZES = {**SMALL, **GROUPED, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None}

DECODERS = {
    "llama": lambda: transformers.LlamaConfig(**SIZES),
    "mistral": lambda: transformers.MistralConfig(**SIZES, sliding_window=6),
    "qwen3": lambda: transformers.Qwen3Config(**SIZES, head_dim=16),
    "gpt2": lambda: transformers.GPT2Config(
        vocab_size=97, n_embd=32, n_layer=2, n_head=4, n_positions=256, bos_token_id=1, eos_token_id=None
    ),
    # Their scores have a cap, and sinks.
    "gemma2": lambda: transformers.Gemma2Config(
        **SIZES, head_dim=8, sliding_window=6, attn_logit_softcapping=5.0, query_pre_attn_scalar=8
    ),
    "gpt_oss": lambda: transformers.GptOssConfig(
        **SIZES, head_dim=8, sliding_window=6, num_local_experts=4, num_experts_per_tok=2
    ),
}


@pytest.fixture
def account(monkeypatch):
    """How often our attention was called, and why others were called instead."""

    class Account:
        ours, reasons = 0, []

    result = Account()
    result.reasons = []

    def counted(function):
        def call(*args, **options):
            result.ours += 1
            return function(*args, **options)

        return call

    monkeypatch.setattr(_attention, "attention", counted(_attention.attention))
    monkeypatch.setattr(_attention, "log_once", lambda door, reason: result.reasons.append(reason))
    return result


@pytest.fixture(params=["one call for all lengths", "a call for each length"])
def calls(request, monkeypatch):
    """How often attention is called for so many lengths: once for each where a GPU decodes, say."""
    if request.param == "one call for all lengths":
        return lambda lengths: 1
    monkeypatch.setattr(_attention, "takes_padded", lambda *args: False)
    return lambda lengths: lengths


def built(config, kind=None):
    """(a model with our attention, the same with eager in float64)"""
    torch.manual_seed(0)
    auto = kind or transformers.AutoModelForCausalLM
    model = auto.from_config(config, attn_implementation="eager", experts_implementation="eager").eval()
    for parameter in model.parameters():  # large enough that wrong attention is seen
        torch.nn.init.normal_(parameter, std=0.2) if parameter.dim() > 1 else None
    exact = copy.deepcopy(model).double()
    model.set_attn_implementation(register())
    assert model.config._attn_implementation == NAME
    return model, exact


def prompts(padding="left", lengths=(11, 4, 8)):
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(2, 97, (len(lengths), max(lengths)), generator=generator)
    mask = torch.zeros_like(ids)
    for entry, length in enumerate(lengths):
        mask[entry, -length:] = 1 if padding == "left" else 0
        mask[entry, :length] = 1 if padding == "right" else mask[entry, :length]
    return {"input_ids": ids * mask, "attention_mask": mask}


def places(batch):
    """Positions that count from the first token that is no padding."""
    return (batch["attention_mask"].cumsum(1) - 1).clamp(min=0)


def one_by_one(batch):
    """The prompts without their padding: what eager makes of rows that see nothing in float64 is NaN, for all to see."""
    for ids, mask in zip(batch["input_ids"], batch["attention_mask"]):
        yield ids[mask.bool()][None]


def exact_logits(exact, batch):
    return torch.cat([exact(input_ids=ids).logits[0] for ids in one_by_one(batch)])


def exact_tokens(exact, batch, **options):
    """What follows each prompt."""
    return torch.cat([exact.generate(ids, **options)[:, ids.shape[1] :] for ids in one_by_one(batch)])


def close(ours, expected, tolerance=2e-4):
    torch.testing.assert_close(ours.double(), expected.double(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("padding", ["none", "left", "right"])
@torch.no_grad()
def test_logits(name, padding, account, calls):
    model, exact = built(DECODERS[name]())
    batch = prompts(padding, (11, 4, 8) if padding != "none" else (11, 11, 11))
    if padding == "none":
        batch["attention_mask"][:] = 1
    real = batch["attention_mask"].bool()
    close(model(**batch, position_ids=places(batch)).logits[real], exact_logits(exact, batch))
    assert account.reasons == []
    assert account.ours == 2 * {"none": 1, "left": 1, "right": calls(3)}[padding]


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_greedy_tokens(name, cache, account):
    model, exact = built(DECODERS[name]())
    options = {"max_new_tokens": 64, "do_sample": False, "pad_token_id": 0}
    expected = exact_tokens(exact, prompts(), **options)
    ours = model.generate(
        **prompts(), **options, **({"cache_implementation": "static"} if cache == "static" else {})
    )
    assert torch.equal(ours[:, 11:], expected)
    assert account.reasons == [] and account.ours > 0


@pytest.mark.parametrize("name", DECODERS)
def test_a_training_step(name, account, calls):
    model, exact = built(DECODERS[name]())
    batch = prompts("right")
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    for each in (model, exact):
        each.train()
        for module in each.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
            for attribute in ("attention_dropout", "attn_dropout"):
                if isinstance(getattr(module, attribute, None), float):
                    setattr(module, attribute, 0.0)
    loss = model(**batch, labels=labels).loss
    loss.backward()
    parts = [exact(input_ids=ids, labels=ids).loss * (ids.shape[1] - 1) for ids in one_by_one(batch)]
    expected = sum(parts) / sum(ids.shape[1] - 1 for ids in one_by_one(batch))
    expected.backward()
    close(loss.detach(), expected.detach())
    for (parameter, p), (_, e) in zip(model.named_parameters(), exact.named_parameters()):
        assert p.grad is not None, parameter
        torch.testing.assert_close(
            p.grad.double(), e.grad, rtol=1e-3, atol=1e-4, msg=lambda m: f"{parameter}: {m}"
        )
    assert account.reasons == [] and account.ours > 0


@pytest.mark.parametrize("name", ["llama", "mistral"])
@torch.no_grad()
def test_packed_sequences(name, account):
    model, exact = built(DECODERS[name]())
    lengths = [9, 1, 14]
    ids = prompts("right", (sum(lengths),))["input_ids"]
    positions = torch.cat([torch.arange(length) for length in lengths])[None]
    logits = model(input_ids=ids, position_ids=positions, use_cache=False).logits
    assert account.reasons == [] and account.ours == 2
    at = 0
    for length in lengths:
        close(logits[:, at : at + length], exact(input_ids=ids[:, at : at + length]).logits)
        at += length


@pytest.mark.parametrize("name", ["gemma2", "gpt_oss"])
def test_scores_of_calls_that_no_kernel_takes_go_to_the_models_own_formula(name, account, monkeypatch):
    monkeypatch.setattr(_attention, "why_not_attention", lambda *args: "no kernel takes it")
    model, exact = built(DECODERS[name]())
    batch = prompts()
    real = batch["attention_mask"].bool()
    with torch.no_grad():
        close(model(**batch, position_ids=places(batch)).logits[real], exact_logits(exact, batch))
        unpadded = {"input_ids": prompts(lengths=(11,))["input_ids"]}
        close(model(**unpadded).logits, exact(**unpadded).logits)
    assert account.ours == 0 and set(account.reasons) == {"no kernel takes it"}


@torch.no_grad()
def test_bert_with_padding(account, calls):
    config = transformers.BertConfig(**SMALL, num_attention_heads=4, max_position_embeddings=64)
    model, exact = built(config, transformers.AutoModel)
    for padding in ("right", "left"):
        batch = prompts(padding)
        real = batch["attention_mask"].bool()
        close(model(**batch).last_hidden_state[real], exact(**batch).last_hidden_state[real])
    assert account.ours == 2 * (calls(3) + 1) and account.reasons == []


@torch.no_grad()
def test_vit(account):
    config = transformers.ViTConfig(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=16,
        patch_size=4,
    )
    model, exact = built(config, transformers.AutoModel)
    pixels = torch.randn(2, 3, 16, 16)
    close(model(pixels).last_hidden_state, exact(pixels.double()).last_hidden_state)
    assert account.ours == 2 and account.reasons == []


def test_t5(account):
    config = transformers.T5Config(
        vocab_size=97,
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        pad_token_id=0,
        decoder_start_token_id=0,
    )
    model, exact = built(config, transformers.AutoModelForSeq2SeqLM)
    batch = prompts("right")
    options = {"max_new_tokens": 64, "do_sample": False}
    with torch.no_grad():
        ours = model(**batch, decoder_input_ids=batch["input_ids"][:, :5]).logits
        close(ours, exact(**batch, decoder_input_ids=batch["input_ids"][:, :5]).logits)
    assert torch.equal(model.generate(**batch, **options), exact.generate(**batch, **options))
    assert account.ours > 0 and account.reasons == []
    # Its bias is a parameter: one step of training moves it as it moves eager's.
    for each in (model, exact):
        each.train()
        each.config.dropout_rate = 0.0
        for module in each.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
            if type(module).__name__ == "T5Attention":
                module.dropout = 0.0
    calls = account.ours
    labels = batch["input_ids"][:, :7].masked_fill(batch["attention_mask"][:, :7] == 0, -100)
    for each in (model, exact):
        each(**batch, labels=labels).loss.backward()
    assert account.ours == calls + 6 and account.reasons == []
    biases = 0
    for (name, ours), other in zip(model.named_parameters(), exact.parameters()):
        close(ours.grad, other.grad, 2e-3)
        if "relative_attention_bias" in name:
            biases += 1
            assert ours.grad.abs().max() > 1e-4
    assert biases == 2


def test_whisper(account):
    config = transformers.WhisperConfig(
        vocab_size=97,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_source_positions=20,
        max_target_positions=32,
        num_mel_bins=8,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        begin_suppress_tokens=None,
    )
    model, exact = built(config, transformers.AutoModelForSpeechSeq2Seq)
    features = torch.randn(2, 8, 40)
    ids = prompts("right", (7, 7))["input_ids"]
    with torch.no_grad():
        ours = model(input_features=features, decoder_input_ids=ids).logits
        close(ours, exact(input_features=features.double(), decoder_input_ids=ids).logits)
    assert account.ours == 6 and account.reasons == []


def test_a_mask_that_was_computed_with_counts_as_it_is(account):
    model, exact = built(DECODERS["llama"]())
    ids = prompts("right", (9,))["input_ids"]
    mask = torch.ones(9, 9, dtype=torch.bool).tril()
    mask[4, 2] = mask[6, 1] = False
    additive = torch.where(mask, 0.0, torch.finfo(torch.float32).min)[None, None]
    with torch.no_grad():
        close(
            model(ids, attention_mask=mask[None, None]).logits,
            exact(ids, attention_mask=additive.double()).logits,
        )
        close(model(ids, attention_mask=additive).logits, exact(ids, attention_mask=additive.double()).logits)
    assert account.ours == 4 and account.reasons == []


def operators(work):
    """How often each of PyTorch's operators is called, but for what only allocates."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        work()
    names = Counter(event.name for event in profile.events() if event.name.startswith("aten::"))
    return {name: count for name, count in names.items() if not name.startswith("aten::empty")}


@pytest.mark.parametrize("trains", [False, True])
@pytest.mark.parametrize("name", ["llama", "mistral"])
def test_no_operator_is_called_that_sdpa_would_not_call(name, trains):
    model, _ = built(DECODERS[name]())
    ids = prompts(lengths=(11,))["input_ids"]

    def step():
        with torch.set_grad_enabled(trains):
            loss = model(input_ids=ids, labels=ids, use_cache=not trains).loss
        if trains:
            loss.backward()

    counts = {}
    for implementation in (NAME, "sdpa"):
        model.set_attn_implementation(implementation)
        step()  # the first makes gradients, the next adds to them
        counts[implementation] = operators(step)
    more = {op: count for op, count in counts[NAME].items() if count > counts["sdpa"].get(op, 0)}
    assert more == {}


def test_the_name_is_one_that_transformers_leaves_alone():
    assert not any(word in NAME for word in ("flash", "sdpa", "flex_attention", "/", "|"))
    assert list(inspect.signature(register).parameters) == []


@pytest.mark.skipif(not hasattr(torch.compiler, "substitute_in_graph"), reason="PyTorch is older than 2.5")
@torch.no_grad()
def test_a_compiled_model():
    torch._dynamo.reset()
    model, exact = built(DECODERS["llama"]())
    ids = prompts("right", (9,))["input_ids"]
    compiled = torch.compile(model, backend="aot_eager")
    close(compiled(input_ids=ids, use_cache=False).logits, exact(input_ids=ids).logits)
    batch = prompts()
    real = batch["attention_mask"].bool()
    padded = compiled(**batch, position_ids=places(batch), use_cache=False).logits
    close(padded[real], exact_logits(exact, batch))
    torch._dynamo.reset()


def test_the_example_learns(root, monkeypatch, account, capsys):
    monkeypatch.syspath_prepend(str(root / "flashmoe" / "examples" / "fine-tune"))
    import fine_tune

    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(fine_tune.SMALL, attn_implementation=register())
    losses = fine_tune.fine_tune(model, 30, 64)
    assert losses[-1] < losses[0] - 1.5
    assert account.ours > 0 and account.reasons == []
    assert capsys.readouterr().out.startswith("step 0: loss ")
