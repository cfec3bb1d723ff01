"""Headings of tables, in English or Chinese, to quantities: what they name and in which unit."""

import re
from dataclasses import dataclass
from functools import lru_cache

from runs.readers.results.names import stat
from runs.readers.words import names_one


@dataclass(frozen=True, slots=True)
class Column:
    """`key` is a metric's key, or 'concurrency', 'arm', 'steps', 'adapters', 'index', 'input_len' …

    `unit` is empty where a time's heading does not tell it.
    """

    key: str
    unit: str


_FAMILIES = (
    (
        "ttft",
        r"(?<![a-z])ttft(?![a-z])|time to first (?:output )?token|首\s*(?:个)?\s*token|首字|首包",
    ),
    (
        "tpot",
        r"(?<![a-z])tpot(?![a-z])|time per output token|"
        r"每\s*(?:个)?\s*(?:输出)?\s*token|单\s*token",
    ),
    ("itl", r"(?<![a-z])itl(?![a-z])|inter[- ]?token(?: latency)?|token\s*间"),
    (
        "e2e",
        r"(?<![a-z])e2el?(?![a-z])|end[- ]to[- ]end|request latency|"
        r"端到端|总时延|总延迟|请求时延|请求延迟|\A(?:average|avg|mean) latency",
    ),
)
_TOKENS = (
    r"(?:tok(?:en)?s?\s*/\s*s(?:ec(?:ond)?)?|tok s|tps|tokens per second|token/秒|throughput|"
    r"tput|吞吐|スループット|처리량|"
    r"débit|durchsatz|rendimiento|пропускная способность)"
)
_ONE = (
    r"(?:(?:per|/)[- ]?(?:user|request|req|client|stream)\b|"
    r"单用户|单请求|每用户|每请求|单路|单并发)"
)
_OUT = (
    r"(?:\bout(?:put)?\b|gen(?:eration)?|decode|aggregate|输出|輸出|出力|출력|生成|생성|解码|聚合|"
    r"sortie|ausgabe|salida|выход)"
)
# Of one GPU: another quantity, whatever its tokens are.
_GPU_RATE = re.compile(
    r"(?:per|/)[- ]?(?:gpu|npu|card|device|chip|accelerator|卡)|单卡|每卡|\bper-gpu\b"
)
_SIDES = (
    ("input_gpu_tps", r"input|prefill|prompt|输入|预填充"),
    ("output_gpu_tps", _OUT),
    ("total_gpu_tps", r"total|总"),
    ("gpu_tps", ""),
)
_RATES = (
    ("user_tps", rf"{_ONE}.*{_TOKENS}|{_TOKENS}.*{_ONE}"),
    (
        "requests_per_s",
        r"req(?:uest)?s?\s*/\s*s|\bqps\b|\brps\b|request throughput|requests per second|"
        r"请求吞吐|每秒请求",
    ),
    ("peak_output_tps", rf"(?:peak|max|峰值).*{_OUT}.*{_TOKENS}"),
    ("input_tps", rf"(?:input|prefill|prompt|输入|预填充).*{_TOKENS}"),
    ("output_tps", rf"{_OUT}.*{_TOKENS}|{_TOKENS}.*\b(?:output|aggregate)\b"),
    ("total_tps", rf"(?:total|总).*{_TOKENS}"),
    # Nothing says which tokens; in this field it is the output.
    ("output_tps", rf"\A(?:system |系统)?{_TOKENS}\W*(?:量|率)?\W*(?:{_TOKENS})?\W*\Z"),
)
_PLAIN = (
    (
        "concurrency",
        r"\A(?:max |target |num |number of )?"
        r"(?:conc(?:urrency|urrent)?(?: requests| users| level)?|clients?|users?|c|bs|"
        r"batch(?: size)?)\Z|"
        r"\A(?:最大)?(?:并发|並發|併發)(?:数|數|度|量|请求数?|請求數?|用户数?)?\Z|"
        r"\A(?:最大)?(?:同時(?:実行|接続|リクエスト)数|並列数)\Z|"
        r"\A동시(?:성| 요청(?: 수)?| 접속)\Z|"
        r"\A(?:concurrence|concurrencia|parallelität|nebenläufigkeit|параллельность)\Z",
    ),
    (
        "steps",
        r"\A(?:spec(?:ulative)? ?)?(?:num ?)?(?:draft )?steps\Z|\A(?:推测|投机|草稿)?步数\Z",
    ),
    (
        "arm",
        r"\A(?:arm|config(?:uration)?|setup|variant|mode|method|name|label|tag|run|"
        r"配置|方案|模式|方法|名称)\Z",
    ),
    ("model", r"\A(?:model|模型)\Z"),
    (
        "adapters",
        r"\A(?:num(?:ber of)? )?(?:active )?(?:lora |lora-)?(?:adapters?|loras?)(?: names?)?\Z|"
        r"\A(?:lora\s?)?适配器(?:数量?|名称?)?\Z",
    ),
    ("accept_len", r"accept(?:ance|ed)?[ -]?len(?:gth)?|\bacc[ -]?len|接受长度|接收长度"),
    ("accept_rate", r"accept(?:ance)?[ -]?rate|接受率|接收率"),
    (
        "output_len_mean",
        r"\A(?:avg|mean|average) (?:output|generated) (?:tokens?|len(?:gth)?)\Z|\A平均输出",
    ),
    ("input_len", r"\A(?:isl|(?:random )?input[ -]?len(?:gth)?|prompt len(?:gth)?|输入长度)\Z"),
    ("output_len", r"\A(?:osl|(?:random )?output[ -]?len(?:gth)?|输出长度)\Z"),
    ("num_prompts", r"\A(?:num[ -]?prompts|prompts|请求数|总请求数)\Z"),
    ("completed", r"\A(?:completed|succe(?:ed|ssful)(?: requests)?|成功(?:数|请求数)?)\Z"),
    ("failed", r"\A(?:failed|errors?|failed requests|失败(?:数|请求数)?)\Z"),
    ("duration_s", r"\A(?:benchmark )?duration|\Atime taken for tests|\A(?:总)?耗时|测试时长"),
    ("request_rate", r"\A(?:request[ -]?rate|请求速率)\Z"),
)
_UNIT = re.compile(
    r"[(\[（【/_ ,](ms|us|µs|μs|ns|s|sec|secs|seconds|minutes|hours|毫秒|秒|分钟|%|percent)"
    r"[)\]）】]?\s*\Z|(毫秒|秒|分钟|%)\s*[)）]?\Z"
)
# Of a latency '(min)' is the least.
_LONG_UNIT = re.compile(r"[(\[（【](mins?|h)[)\]）】]\s*\Z")
_STAT = re.compile(
    r"(?<![a-z])(mean|avg|average|median|std|min|max|p[0-9]{1,2}(?:\.[0-9]{1,2})?)(?![a-z0-9])|"
    r"(平均|均值|中位数?|最大|最小)|([0-9]{2})\s*(?:分位|%|th)"
)
_HEADING_LIMIT = 200
_TIMES = ("ttft", "tpot", "itl", "e2e")
TIME_UNITS = (
    *("ms", "us", "µs", "μs", "ns", "s", "sec", "secs", "seconds", "毫秒", "秒"),
    *("min", "mins", "minutes", "分钟", "h", "hours"),
)
_LEVEL = re.compile(
    r"(?i)(?<![\w-])(?:c|conc(?:urrency)?|max[-_ ]concurrency|clients?|users?|bs|batch[-_ ]size)"
    r"\s{0,2}[=:\uff1a]\s{0,2}([0-9]{1,6})(?![\w.])|"
    r"\u5e76\u53d1(?:\u6570|\u5ea6)?\s{0,2}[=:\uff1a]?\s{0,2}([0-9]{1,6})(?![\w.])"
)
# A heading's words: only such lines can open a table of commas or blanks.
_HEADING = (
    *("tok/s", "tok_s", "token/s", "tokens/s", "_ms", "(ms)", "ttft", "tpot", "throughput"),
    *("metric,", "吞吐", "时延", "延迟", "token/秒"),
)
# 'concurrency,off,steps=1': the metric stands in the caption.
_LEVELS = re.compile(
    r"(?i)\s{0,3}(?:(?:max_)?conc\w{0,12}|并发数?|batch[ _]?size|bs|c)(?:\s?[,;\t|]|\s{2})"
)
_VALUE = re.compile(r"[:=]\s*[0-9]")


def is_heading(text: str) -> bool:
    """Cheap test before a line is split: a heading names quantities and holds no values."""
    if _LEVELS.match(text):
        return True
    return names_one(text[:2000].lower(), _HEADING) and _VALUE.search(text, 0, 400) is None


@lru_cache(maxsize=4096)
def read_heading(text: str) -> Column | None:
    """Tell what a heading names, None when nothing is known of it."""
    if len(text) > _HEADING_LIMIT:
        return None
    shown = re.sub(r"[*`]", "", text).strip().lower()
    if not shown:
        return Column("index", "")
    words = re.sub(r"[_\s]+", " ", shown)
    bare = re.sub(r"\s*[(\[（【].*", "", words).strip()
    for key, pattern in _PLAIN:
        if re.search(pattern, bare):
            return _plain(key, shown)
    timed = next((name for name, pattern in _FAMILIES if re.search(pattern, words)), None)
    if timed:
        return Column(f"{timed}{_statistic(words)}", _time_unit(shown))
    if _GPU_RATE.search(words):
        side = next(key for key, pattern in _SIDES if re.search(pattern, words))
        return Column(side, "tok/s") if re.search(_TOKENS, words) else None
    for key, pattern in _RATES:
        if re.search(pattern, words):
            return Column(key, "req/s" if key == "requests_per_s" else "tok/s")
    return None


def _plain(key: str, shown: str) -> Column:
    unit = _time_unit(shown)
    if key == "accept_rate":
        return Column(key, "%" if unit in ("%", "percent") else "fraction")
    if key == "duration_s":
        long = _LONG_UNIT.search(shown)
        return Column(key, long[1] if long else unit or "s")
    units = {
        "accept_len": "tokens",
        "output_len_mean": "tokens",
        "completed": "requests",
        "failed": "requests",
    }
    return Column(key, units.get(key, ""))


def _statistic(words: str) -> str:
    match = _STAT.search(words)
    if match is None:
        return ""
    word = stat(match[1] or match[2] or f"p{match[3]}")
    return f"_{word}" if word else ""


def _time_unit(shown: str) -> str:
    match = _UNIT.search(shown)
    return (match[1] or match[2]) if match else ""


def told_statistic(caption: str) -> str | None:
    """Give the statistic that a caption names for all of its table: 'median', 'mean'."""
    match = re.search(r"(?i)\b(median|mean|average|avg)\b|(中位数?|平均)", caption)
    return None if match is None else stat(match[1] or match[2])


def told_level(caption: str) -> int | None:
    """Give the concurrency that a caption's nearest line names for the table: 'c=8', '并发 8'."""
    for line in caption[:2000].splitlines():
        found = {int(one or other) for one, other in _LEVEL.findall(line)}
        if found:
            return found.pop() or None if len(found) == 1 else None
    return None


def told_unit(caption: str) -> str:
    """Give the unit of time a caption names: 'all latencies in ms'."""
    match = re.search(r"(?i)\b(ms|us|µs|seconds)\b|(毫秒)", caption)
    return (match[1] or match[2]).lower() if match else ""


def is_time(key: str) -> bool:
    return key.split("_", 1)[0] in _TIMES
