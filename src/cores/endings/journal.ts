/** The journal of endings, as whoever uses it sees it. */
import type { Ending, TakeBack } from '../record-ending.ts'

export type Sealing = {
  seal(context: string, text: string): string
  open(context: string, sealed: string): string
}

export type EndingsJournal = {
  /** Of the folder: processes that share it have the same. */
  readonly id: string
  /** On the disk when it resolves. `lineage`: of the database, which an intended way back ends. */
  keep(lineage: string, endings: readonly Ending[]): Promise<TakeBack>
  /** What was not taken back of the last day, of every process that writes to the folder, the oldest first. */
  read(lineage: string): Promise<readonly Ending[]>
  /** Removes what is older. */
  sweep(): Promise<void>
  close(): Promise<void>
}
