/** The receipt of an ending of access, as it is signed. The server signs by it and the client verifies by it, so it has no zod. */
import type { TrailKey } from './trail-format.ts'

/** Whose access ends. */
export const RECEIPT_OF = ['agent', 'machine_agent', 'person', 'client', 'organization'] as const
export type ReceiptOf = (typeof RECEIPT_OF)[number]

/** What was open and is cut off, with the words of pages. A stream has begun its answer, a long poll waits for something. */
export const CUT_KINDS = {
  calls: 'waiting calls',
  long_polls: 'long polls',
  streams: 'streams',
  questions: 'running questions',
} as const
export type CutKind = keyof typeof CUT_KINDS
export type Cut = Readonly<Record<CutKind, number>>

/** What an ending cannot take back: somebody has the connection string of a database until that is rotated. */
export type Remains = {
  readonly connection_string: string
  readonly read_by: string
  readonly read_at: string
}

export type SignedReceipt = {
  readonly receipt: 1
  readonly id: string
  readonly org: string
  readonly of: { readonly kind: ReceiptOf; readonly id: string; readonly name: string }
  readonly by: { readonly id: string | null; readonly name: string }
  /** Nothing was ended. */
  readonly rehearsal?: true
  readonly began_at: string
  /** No process wrote a byte for it after this moment. */
  readonly final_at: string
  readonly ended: Readonly<Record<string, number>>
  readonly cut: Cut
  /** How many acknowledged it. All others had no lease any more, without which none answers anybody. */
  readonly processes: number
  readonly remains: readonly Remains[]
  readonly key: string
}

/** As the server hands it out, and `svc audit verify` reads it. */
export type ReceiptFile = {
  readonly signed: string
  readonly signature: string
  readonly keys: readonly TrailKey[]
}

export const receiptText = (signed: string): string => `svc receipt\n${signed}`
