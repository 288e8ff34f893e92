/** What loads need. */
import type { EmbeddingDeps } from '../embeddings/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import type { DivideTexts, ReadDocument } from '../documents/index.ts'
import type { ConfigurationDeps } from '../search/index.ts'
import type { ReadTableFile } from './read-table.ts'
import type { Turns } from '../work/index.ts'
import type { Log } from '../dependencies.ts'

export type LoadDeps = ConfigurationDeps &
  EmbeddingDeps &
  WithDirectory &
  Log & {
    readonly readDocument: ReadDocument
    readonly divideTexts: DivideTexts
    readonly readTable: ReadTableFile
    readonly tablePreviews: Turns
  }
