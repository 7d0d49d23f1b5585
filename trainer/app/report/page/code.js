// ---- code: its colours, and what changed from turn to turn

const words = text => new Set(text.split(' '));
const KEYWORDS = words('alignas alignof auto break case catch class concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do dynamic_cast else enum explicit export extern false final for friend goto if inline mutable namespace new noexcept nullptr operator override private protected public register reinterpret_cast requires return sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union using virtual volatile while asm __restrict__ __restrict restrict');
const TYPES = words('void bool char short int long float double signed unsigned wchar_t char8_t char16_t char32_t size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t half __half half2 __half2 __nv_bfloat16 __nv_bfloat162 bfloat16 float2 float3 float4 double2 int2 int3 int4 uint2 uint3 uint4 dim3 std cudaStream_t');
const CUDA = words('__global__ __device__ __host__ __shared__ __constant__ __managed__ __launch_bounds__ __forceinline__ __noinline__ __grid_constant__ threadIdx blockIdx blockDim gridDim warpSize __syncthreads __syncwarp');
// Each alternative is linear in the text; what none of them takes has no colour.
const TOKENS = /(?<fence>^[ \t]*(?:```|~~~).*$)|(?<comment>\/\/[^\n]*|\/\*[^]*?(?:\*\/|(?![^])))|(?<string>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|(?<directive>^[ \t]*#[ \t]*\w+)|(?<number>\b(?:0[xX][\da-fA-F']+|\d[\d']*(?:\.\d*)?(?:[eE][+-]?\d+)?)\w*|\.\d+(?:[eE][+-]?\d+)?\w*)|(?<word>[A-Za-z_]\w*)/gm;

function kindOf(match, text) {
  const { word } = match.groups;
  if (word === undefined) return Object.keys(match.groups).find(kind => match.groups[kind] !== undefined);
  if (CUDA.has(word)) return 'cuda';
  if (TYPES.has(word)) return 'type';
  if (KEYWORDS.has(word)) return 'keyword';
  return text[match.index + word.length] === '(' ? 'call' : null;
}
// The lines of a text, each a list of [kind or null, text].
function colouredLines(text) {
  const lines = [[]];
  const add = (kind, piece) => piece.split('\n').forEach((part, i) => {
    if (i) lines.push([]);
    if (part) lines[lines.length - 1].push([kind, part]);
  });
  let at = 0;
  for (const match of text.matchAll(TOKENS)) {
    add(null, text.slice(at, match.index));
    add(kindOf(match, text), match[0]);
    at = match.index + match[0].length;
  }
  add(null, text.slice(at));
  return lines;
}

// [sign, line of `before` or −1, line of `after` or −1] of every line; sign ' ', '-' or '+'. By the longest common
// subsequence of what the texts do not begin and end with alike; where that is too long, all of it is exchanged.
function diffLines(before, after) {
  let head = 0, tail = 0;
  const shorter = Math.min(before.length, after.length);
  while (head < shorter && before[head] === after[head]) ++head;
  while (tail < shorter - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) ++tail;
  const n = before.length - head - tail, m = after.length - head - tail, result = [];
  for (let i = 0; i < head; ++i) result.push([' ', i, i]);
  const alike = (i, j) => before[head + i] === after[head + j];
  const best = n * m > 400000 ? null : Array.from({ length: n + 1 }, () => new Uint32Array(m + 1));
  for (let i = n - 1; best && i >= 0; --i)
    for (let j = m - 1; j >= 0; --j) best[i][j] = alike(i, j) ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  for (let i = 0, j = 0; i < n || j < m;) {
    if (best && i < n && j < m && alike(i, j)) result.push([' ', head + i++, head + j++]);
    else if (i < n && (j === m || !best || best[i + 1][j] >= best[i][j + 1])) result.push(['-', head + i++, -1]);
    else result.push(['+', -1, head + j++]);
  }
  for (let i = 0; i < tail; ++i) result.push([' ', before.length - tail + i, after.length - tail + i]);
  return result;
}

const lineNodes = line => line.map(([kind, text]) => kind ? el('span', { class: 'code-' + kind }, text) : text);
const plainCode = text => el('pre', { class: 'code' }, colouredLines(text).map((line, i) => [i ? '\n' : '', lineNodes(line)]));

// Code with its changes from `before` marked.
function changedCode(earlier, later) {
  const before = earlier.trimEnd(), text = later.trimEnd();
  const old = colouredLines(before), now = colouredLines(text), rows = diffLines(before.split('\n'), text.split('\n'));
  const count = sign => rows.filter(row => row[0] === sign).length;
  const pre = el('pre', { class: 'code diff' }, rows.map(([sign, i, j]) =>
    el('span', { class: sign === '+' ? 'line added' : sign === '-' ? 'line removed' : 'line' }, sign + ' ', lineNodes(j < 0 ? old[i] : now[j]))));
  return { pre, added: count('+'), removed: count('-') };
}

