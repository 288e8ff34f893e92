/** What a reader of a format is asked for, and what it answers. */
import type { Encoding } from './encoding.ts'

export type Reading = {
  /** Undefined: UTF-8. */
  readonly encoding?: Encoding | undefined
  readonly delimiter: string
  readonly headers: readonly string[]
  /** Those whose values are lists. */
  readonly lists?: readonly string[] | undefined
  /** Those whose values are kept as JSON. */
  readonly jsons?: readonly string[] | undefined
  /** Of the first byte. */
  readonly line: number
  /** Nothing follows. */
  readonly isLast: boolean
  /** Only so many rows are wanted. */
  readonly rowsMax?: number
}

export type RawRow = { readonly line: number } & (
  | { readonly cells: readonly string[] }
  | { readonly problem: string }
)

export type ReadPart = {
  readonly rows: readonly RawRow[]
  /** Bytes of whole rows; the others are read with the next part. */
  readonly consumed: number
  /** Of the next row. */
  readonly line: number
  /** What follows cannot be read. */
  readonly isBroken: boolean
}
