/** The kernel as the program sees it, and where everything lies in the memory that it works on. */

/** So many products of integers fit into a sum of 32 bits. */
export const BLOCK_MAX = 384

/** Places in the memory, in bytes. */
export type Norm = { readonly weight: number; readonly bias: number }
/** `k` in blocks, each of which has all columns. */
export type Dense = {
  readonly at: number
  /** Of columns, where numbers are integers. */
  readonly scales: number
  readonly bias: number
  readonly columns: number
  readonly rows: number
  readonly block: number
}
type Layer = {
  readonly queryKeyValue: Dense
  readonly attention: Dense
  readonly attentionNorm: Norm
  readonly up: Dense
  readonly down: Dense
  readonly downNorm: Norm
}

export type Numbers = 'int16' | 'float'

export type Weights = {
  readonly memory: WebAssembly.Memory
  readonly kernel: WebAssembly.Module
  readonly numbers: Numbers
  readonly words: number
  readonly positions: number
  readonly segment: number
  readonly norm: Norm
  readonly layers: readonly Layer[]
  /** Where the threads' own parts begin. */
  readonly end: number
}

export type Kernel = Readonly<
  Record<
    | 'attend'
    | 'addNormalized'
    | 'gelu'
    | 'lookUp'
    | 'multiplyInt16'
    | 'multiplyWide'
    | 'packFloat'
    | 'packInt16'
    | 'pool'
    | 'toInt16'
    | 'widen',
    (...places: number[]) => void
  >
>

const PAGE_BYTES = 65_536

export const startKernel = ({ kernel, memory }: Pick<Weights, 'kernel' | 'memory'>): Kernel =>
  new WebAssembly.Instance(kernel, { env: { memory, abort: () => {} } }).exports as Kernel

/** Places for numbers, each at the beginning of a line of the cache. */
export function takePlaces(memory: WebAssembly.Memory, from: number): (bytes: number) => number {
  let end = from
  return (bytes) => {
    const at = end
    end = Math.ceil((at + bytes) / 64) * 64
    const missing = end - memory.buffer.byteLength
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES))
    return at
  }
}
