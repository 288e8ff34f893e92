/**
 * The arithmetic of BERT (Devlin et al., 2018) in AssemblyScript with 128-bit SIMD; `npm run generate` compiles it to
 * kernel.wasm, and engine.ts says what follows what.
 *
 * A matrix is rows of 32-bit floats, one token a row. The right-hand side of a product is packed in panels of 8 columns, so that
 * what is needed next always lies next. Four rows are taken at a time: a buffer has room for three more rows than it holds.
 */

// ---------- products

/** Two times four sums: with the bias, or added to what is there. */
@inline function put(c: usize, low: v128, high: v128, bias: usize, add: bool): void {
  if (bias) { low = f32x4.add(low, v128.load(bias)); high = f32x4.add(high, v128.load(bias, 16)) }
  if (add) { low = f32x4.add(low, v128.load(c)); high = f32x4.add(high, v128.load(c, 16)) }
  v128.store(c, low)
  v128.store(c, high, 16)
}

/** c = a · b + bias, or c += a · b: `m` rows of `k` floats by `n` columns. `n` is a multiple of 8; strides are in bytes. */
function multiply(a: usize, lda: usize, b: usize, c: usize, ldc: usize, m: i32, n: i32, k: i32, bias: usize, add: bool): void {
  for (let j = 0; j < n; j += 8, b += <usize>k * 32, c += 32) {
    for (let i = 0; i < m; i += 4) multiplyTile(a + i * lda, lda, b, k, c + i * ldc, ldc, bias, add)
    if (bias) bias += 32
  }
}

function multiplyTile(a0: usize, lda: usize, b: usize, k: i32, c: usize, ldc: usize, bias: usize, add: bool): void {
  let s0 = f32x4.splat(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0
  let a1 = a0 + lda, a2 = a1 + lda, a3 = a2 + lda
  for (const end = b + <usize>k * 32; b < end; b += 32) {
    const low = v128.load(b), high = v128.load(b, 16)
    let x = v128.load32_splat(a0); s0 = f32x4.relaxed_madd(x, low, s0); s1 = f32x4.relaxed_madd(x, high, s1)
    x = v128.load32_splat(a1); s2 = f32x4.relaxed_madd(x, low, s2); s3 = f32x4.relaxed_madd(x, high, s3)
    x = v128.load32_splat(a2); s4 = f32x4.relaxed_madd(x, low, s4); s5 = f32x4.relaxed_madd(x, high, s5)
    x = v128.load32_splat(a3); s6 = f32x4.relaxed_madd(x, low, s6); s7 = f32x4.relaxed_madd(x, high, s7)
    a0 += 4; a1 += 4; a2 += 4; a3 += 4
  }
  put(c, s0, s1, bias, add); c += ldc
  put(c, s2, s3, bias, add); c += ldc
  put(c, s4, s5, bias, add); c += ldc
  put(c, s6, s7, bias, add)
}

/** As `multiply`, two panels at a time: for processors that have registers for 16 sums (arm64). */
export function multiplyWide(a: usize, lda: usize, b: usize, c: usize, ldc: usize, m: i32, n: i32, k: i32, bias: usize, add: bool): void {
  let j = 0
  for (; j + 16 <= n; j += 16, b += <usize>k * 64, c += 64) {
    for (let i = 0; i < m; i += 4) multiplyTwoTiles(a + i * lda, lda, b, k, c + i * ldc, ldc, bias, add)
    if (bias) bias += 64
  }
  if (j < n) multiply(a, lda, b, c, ldc, m, 8, k, bias, add)
}

/** A number of a row, which takes as long to spread as to multiply, is used for 16 columns. */
function multiplyTwoTiles(a0: usize, lda: usize, b: usize, k: i32, c: usize, ldc: usize, bias: usize, add: bool): void {
  let s0 = f32x4.splat(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0
  let t0 = s0, t1 = s0, t2 = s0, t3 = s0, t4 = s0, t5 = s0, t6 = s0, t7 = s0
  let a1 = a0 + lda, a2 = a1 + lda, a3 = a2 + lda
  const end = b + <usize>k * 32
  for (let d = end; b < end; b += 32, d += 32) {
    const b0 = v128.load(b), b1 = v128.load(b, 16), b2 = v128.load(d), b3 = v128.load(d, 16)
    let x = v128.load32_splat(a0)
    s0 = f32x4.relaxed_madd(x, b0, s0); s1 = f32x4.relaxed_madd(x, b1, s1); t0 = f32x4.relaxed_madd(x, b2, t0); t1 = f32x4.relaxed_madd(x, b3, t1)
    x = v128.load32_splat(a1)
    s2 = f32x4.relaxed_madd(x, b0, s2); s3 = f32x4.relaxed_madd(x, b1, s3); t2 = f32x4.relaxed_madd(x, b2, t2); t3 = f32x4.relaxed_madd(x, b3, t3)
    x = v128.load32_splat(a2)
    s4 = f32x4.relaxed_madd(x, b0, s4); s5 = f32x4.relaxed_madd(x, b1, s5); t4 = f32x4.relaxed_madd(x, b2, t4); t5 = f32x4.relaxed_madd(x, b3, t5)
    x = v128.load32_splat(a3)
    s6 = f32x4.relaxed_madd(x, b0, s6); s7 = f32x4.relaxed_madd(x, b1, s7); t6 = f32x4.relaxed_madd(x, b2, t6); t7 = f32x4.relaxed_madd(x, b3, t7)
    a0 += 4; a1 += 4; a2 += 4; a3 += 4
  }
  const right = bias ? bias + 32 : 0
  put(c, s0, s1, bias, add); put(c + 32, t0, t1, right, add); c += ldc
  put(c, s2, s3, bias, add); put(c + 32, t2, t3, right, add); c += ldc
  put(c, s4, s5, bias, add); put(c + 32, t4, t5, right, add); c += ldc
  put(c, s6, s7, bias, add); put(c + 32, t6, t7, right, add)
}

// ---------- the same with integers of 12 bits in 16: up to 384 products of two of them fit into 32 bits

const LEVELS: f32 = 2047

@inline function putScaled(c: usize, low: v128, high: v128, row: usize, column: usize, bias: usize, add: bool): void {
  const scale = v128.load32_splat(row)
  put(c, f32x4.mul(f32x4.convert_i32x4_s(low), f32x4.mul(scale, v128.load(column))),
    f32x4.mul(f32x4.convert_i32x4_s(high), f32x4.mul(scale, v128.load(column, 16))), bias, add)
}

/** As `multiply`; rows of `a` and columns of `b` have a scale each. `k` is even and at most 384. */
export function multiplyInt16(a: usize, lda: usize, rows: usize, b: usize, columns: usize, c: usize, ldc: usize, m: i32, n: i32, k: i32, bias: usize, add: bool): void {
  for (let j = 0; j < n; j += 8, b += <usize>k * 16, c += 32, columns += 32) {
    for (let i = 0; i < m; i += 4) multiplyTileInt16(a + i * lda, lda, b, k, c + i * ldc, ldc, bias, add, rows + (i << 2), columns)
    if (bias) bias += 32
  }
}

/** One instruction multiplies eight and adds them up in pairs: a pair of a row by that of four columns. */
function multiplyTileInt16(a0: usize, lda: usize, b: usize, k: i32, c: usize, ldc: usize, bias: usize, add: bool, row: usize, column: usize): void {
  let s0 = i32x4.splat(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0
  let a1 = a0 + lda, a2 = a1 + lda, a3 = a2 + lda
  for (const end = b + <usize>k * 16; b < end; b += 32) {
    const low = v128.load(b), high = v128.load(b, 16)
    let x = v128.load32_splat(a0); s0 = i32x4.add(s0, i32x4.dot_i16x8_s(x, low)); s1 = i32x4.add(s1, i32x4.dot_i16x8_s(x, high))
    x = v128.load32_splat(a1); s2 = i32x4.add(s2, i32x4.dot_i16x8_s(x, low)); s3 = i32x4.add(s3, i32x4.dot_i16x8_s(x, high))
    x = v128.load32_splat(a2); s4 = i32x4.add(s4, i32x4.dot_i16x8_s(x, low)); s5 = i32x4.add(s5, i32x4.dot_i16x8_s(x, high))
    x = v128.load32_splat(a3); s6 = i32x4.add(s6, i32x4.dot_i16x8_s(x, low)); s7 = i32x4.add(s7, i32x4.dot_i16x8_s(x, high))
    a0 += 4; a1 += 4; a2 += 4; a3 += 4
  }
  putScaled(c, s0, s1, row, column, bias, add); c += ldc
  putScaled(c, s2, s3, row + 4, column, bias, add); c += ldc
  putScaled(c, s4, s5, row + 8, column, bias, add); c += ldc
  putScaled(c, s6, s7, row + 12, column, bias, add)
}

/** Each row of `n` (a multiple of 8) floats as integers, the largest as LEVELS. */
export function toInt16(a: usize, lda: usize, q: usize, ldq: usize, scales: usize, m: i32, n: i32): void {
  for (let i = 0; i < m; i++, a += lda, q += ldq, scales += 4) {
    let most = f32x4.splat(1e-20)
    for (let j = 0; j < n << 2; j += 16) most = f32x4.pmax(most, f32x4.abs(v128.load(a + j)))
    const max = maxOf(most)
    f32.store(scales, max / LEVELS)
    const by = f32x4.splat(LEVELS / max)
    for (let j = 0; j < n << 2; j += 32) {
      const low = i32x4.relaxed_trunc_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(a + j), by)))
      const high = i32x4.relaxed_trunc_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(a + j, 16), by)))
      v128.store(q + (j >> 1), i16x8.narrow_i32x4_s(low, high))
    }
  }
}

// ---------- packing: `w` has `n` rows of `k` floats, which become columns

/** As floats. `n` is filled up with zeros to a multiple of 8. */
export function packFloat(w: usize, ldw: usize, n: i32, k: i32, b: usize): void {
  for (let j = 0; j < ((n + 7) & ~7); j++, w += ldw) {
    const to = b + (j >> 3) * k * 32 + (j & 7) * 4
    for (let i = 0; i < k; i++) f32.store(to + i * 32, j < n ? f32.load(w + (i << 2)) : 0)
  }
}

/** As integers with a scale for each column; two that are multiplied in one step lie beside each other. */
export function packInt16(w: usize, ldw: usize, n: i32, k: i32, b: usize, scales: usize): void {
  for (let j = 0; j < n; j++, w += ldw) {
    let max: f32 = 1e-20
    for (let i = 0; i < k; i++) max = Mathf.max(max, Mathf.abs(f32.load(w + (i << 2))))
    f32.store(scales + (j << 2), max / LEVELS)
    const to = b + (j >> 3) * k * 16 + (j & 7) * 4
    for (let i = 0; i < k; i++) store<i16>(to + (i >> 1) * 32 + (i & 1) * 2, <i16>nearest(f32.load(w + (i << 2)) * (LEVELS / max)))
  }
}

/** Rows that stay rows: `k` of them, filled up with zeros to a multiple of 8. */
function packRows(w: usize, ldw: usize, k: i32, n: i32, b: usize): void {
  for (let j = 0; j < n; j += 8) {
    for (let i = 0; i < ((k + 7) & ~7); i++, b += 32) {
      const from = w + i * ldw + (j << 2)
      v128.store(b, i < k ? v128.load(from) : f32x4.splat(0))
      v128.store(b, i < k ? v128.load(from, 16) : f32x4.splat(0), 16)
    }
  }
}

/** A half float as a float. The exponent is put right by a multiplication, which is exact for subnormal numbers too. */
@inline function widened(half: usize): f32 {
  const bits = <u32>load<u16>(half)
  const value = reinterpret<f32>((bits & 0x7fff) << 13) * reinterpret<f32>(0x77800000)
  return reinterpret<f32>(reinterpret<u32>(value) | ((bits & 0x8000) << 16))
}

export function widen(halves: usize, floats: usize, n: i32): void {
  for (let i = 0; i < n; i++) f32.store(floats + (i << 2), widened(halves + (i << 1)))
}

// ---------- what stands between the products

@inline function sumOf(v: v128): f32 {
  return f32x4.extract_lane(v, 0) + f32x4.extract_lane(v, 1) + f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3)
}

@inline function maxOf(v: v128): f32 {
  return Mathf.max(Mathf.max(f32x4.extract_lane(v, 0), f32x4.extract_lane(v, 1)), Mathf.max(f32x4.extract_lane(v, 2), f32x4.extract_lane(v, 3)))
}

const LOG2_E: f32 = 1.442695041

/** Added to a float below 2^22, its whole part is rounded and stands in the last bits. */
const ROUND: f32 = 12582912

/**
 * 2 to the x for x up to 0: the series of e to the (ln 2 · rest), and the whole part added to the exponent. Below -80 it is as
 * good as nothing, and numbers too small for their exponent are slow.
 */
@inline function exp2(x: v128): v128 {
  x = f32x4.pmax(x, f32x4.splat(-80))
  const rounded = f32x4.add(x, f32x4.splat(ROUND))
  const rest = f32x4.sub(x, f32x4.sub(rounded, f32x4.splat(ROUND)))
  let p = f32x4.splat(1.540353039e-4)
  p = f32x4.relaxed_madd(p, rest, f32x4.splat(1.333355815e-3))
  p = f32x4.relaxed_madd(p, rest, f32x4.splat(9.618129108e-3))
  p = f32x4.relaxed_madd(p, rest, f32x4.splat(5.550410866e-2))
  p = f32x4.relaxed_madd(p, rest, f32x4.splat(2.402265070e-1))
  p = f32x4.relaxed_madd(p, rest, f32x4.splat(6.931471806e-1))
  p = f32x4.relaxed_madd(p, rest, f32x4.splat(1))
  return i32x4.add(p, i32x4.shl(rounded, 23))
}

/** Word, position and segment embeddings (half floats) of `n` tokens, added up. */
export function lookUp(tokens: usize, n: i32, words: usize, positions: usize, segment: usize, width: i32, x: usize): void {
  for (let i = 0; i < n; i++) {
    const word = words + <usize>load<u32>(tokens + (i << 2)) * width * 2
    for (let j = 0; j < width; j++, x += 4, positions += 2) {
      f32.store(x, widened(word + (j << 1)) + widened(positions) + widened(segment + (j << 1)))
    }
  }
}

/** x = normalized(x + y) · weight + bias, each row of `n` floats by itself (Ba et al., 2016). `y` may be 0. */
export function addNormalized(x: usize, y: usize, m: i32, n: i32, weight: usize, bias: usize, epsilon: f32): void {
  const bytes = n << 2
  for (let i = 0; i < m; i++, x += bytes) {
    let sum = f32x4.splat(0)
    for (let j = 0; j < bytes; j += 16) {
      let v = v128.load(x + j)
      if (y) v = f32x4.add(v, v128.load(y + j))
      v128.store(x + j, v)
      sum = f32x4.add(sum, v)
    }
    const mean = f32x4.splat(sumOf(sum) / <f32>n)
    let squares = f32x4.splat(0)
    for (let j = 0; j < bytes; j += 16) {
      const d = f32x4.sub(v128.load(x + j), mean)
      squares = f32x4.relaxed_madd(d, d, squares)
    }
    const by = f32x4.splat(1 / Mathf.sqrt(sumOf(squares) / <f32>n + epsilon))
    for (let j = 0; j < bytes; j += 16) {
      const d = f32x4.mul(f32x4.sub(v128.load(x + j), mean), by)
      v128.store(x + j, f32x4.relaxed_madd(d, v128.load(weight + j), v128.load(bias + j)))
    }
    if (y) y += bytes
  }
}

/** x / 2 · (1 + erf(x / √2)), erf by Abramowitz and Stegun 7.1.26 (off by 1.5e-7 at most). `n` is a multiple of 4. */
export function gelu(x: usize, n: i32): void {
  const one = f32x4.splat(1)
  for (const end = x + (<usize>n << 2); x < end; x += 16) {
    const v = v128.load(x)
    const z = f32x4.mul(f32x4.abs(v), f32x4.splat(0.70710678))
    const t = f32x4.div(one, f32x4.relaxed_madd(z, f32x4.splat(0.3275911), one))
    let p = f32x4.splat(1.061405429)
    p = f32x4.relaxed_madd(p, t, f32x4.splat(-1.453152027))
    p = f32x4.relaxed_madd(p, t, f32x4.splat(1.421413741))
    p = f32x4.relaxed_madd(p, t, f32x4.splat(-0.284496736))
    p = f32x4.relaxed_madd(p, t, f32x4.splat(0.254829592))
    const erf = f32x4.sub(one, f32x4.mul(f32x4.mul(p, t), exp2(f32x4.mul(f32x4.mul(z, z), f32x4.splat(-LOG2_E)))))
    const signed = v128.or(erf, v128.and(v, f32x4.splat(-0.0)))
    v128.store(x, f32x4.mul(f32x4.mul(v, f32x4.splat(0.5)), f32x4.add(one, signed)))
  }
}

/** e to the x · scale of `n` rows of `n` scores, less the largest, and what to multiply a row by to make its sum one. */
function softmax(x: usize, stride: usize, n: i32, scale: f32, shares: usize): void {
  for (let i = 0; i < n; i++, x += stride, shares += 4) {
    for (let j = <usize>n << 2; j < stride; j += 4) f32.store(x + j, -1e30)
    let most = f32x4.splat(-1e30)
    for (let j: usize = 0; j < stride; j += 16) most = f32x4.pmax(most, v128.load(x + j))
    const max = f32x4.splat(maxOf(most)), by = f32x4.splat(scale * LOG2_E)
    let sum = f32x4.splat(0)
    for (let j: usize = 0; j < stride; j += 16) {
      const e = exp2(f32x4.mul(f32x4.sub(v128.load(x + j), max), by))
      v128.store(x + j, e)
      sum = f32x4.add(sum, e)
    }
    f32.store(shares, 1 / sumOf(sum))
  }
}

/** Each of `m` rows of `n` floats times a number of its own. */
function scaleRows(x: usize, stride: usize, m: i32, n: i32, by: usize): void {
  for (let i = 0; i < m; i++, x += stride, by += 4) {
    for (let j = 0; j < n << 2; j += 16) v128.store(x + j, f32x4.mul(v128.load(x + j), v128.load32_splat(by)))
  }
}

/**
 * softmax(q · kᵀ / √size) · v of each head (Vaswani et al., 2017). A row of `qkv` has the three beside each other; `scratch`
 * holds a number for each row, one packed side, and behind it the scores of one head. The sums of softmax are divided out last,
 * where a row is shorter.
 */
export function attend(qkv: usize, n: i32, width: i32, heads: i32, scratch: usize, out: usize): void {
  const size = width / heads
  const stride = <usize>width * 12
  const padded = (n + 7) & ~7
  const packed = scratch + padded * 4
  const scores = packed + padded * size * 4
  const scale: f32 = <f32>1 / Mathf.sqrt(<f32>size)
  for (let head = 0; head < heads; head++) {
    const q = qkv + head * size * 4
    packFloat(q + width * 4, stride, n, size, packed)
    multiply(q, stride, packed, scores, padded << 2, n, padded, size, 0, false)
    softmax(scores, padded << 2, n, scale, scratch)
    packRows(q + width * 8, stride, n, size, packed)
    multiply(scores, padded << 2, packed, out + head * size * 4, width << 2, n, size, padded, 0, false)
    scaleRows(out + head * size * 4, width << 2, n, size, scratch)
  }
}

/** The sum of `n` rows, of length one. */
export function pool(x: usize, n: i32, width: i32, out: usize): void {
  let squares: f32 = 0
  for (let j = 0; j < width << 2; j += 16) {
    let sum = f32x4.splat(0)
    for (let i = 0; i < n; i++) sum = f32x4.add(sum, v128.load(x + i * width * 4 + j))
    v128.store(out + j, sum)
    squares += sumOf(f32x4.mul(sum, sum))
  }
  const by = f32x4.splat(1 / Mathf.sqrt(squares))
  for (let j = 0; j < width << 2; j += 16) v128.store(out + j, f32x4.mul(v128.load(out + j), by))
}
