/** Words and paths of loads. */
import type * as z from 'zod'
import type { Load, LoadPhase } from '../../../contracts/loads.ts'
import { badge } from '../../components.ts'
import { pathOf } from './source-labels.ts'

export type ShownLoad = z.output<typeof Load>

export const loadPath = ({ source_id, id }: Pick<ShownLoad, 'source_id' | 'id'>): string =>
  `${pathOf(source_id)}/loads/${encodeURIComponent(id)}`

const PHASE_LABELS: Record<LoadPhase, string> = {
  reading: 'Reading the rows',
  checking: 'Checking all rows',
  embedding: 'Embedding the rows',
  indexing: 'Building indexes',
  finishing: 'Finishing',
}

const DOCUMENT_PHASES: Partial<Record<LoadPhase, string>> = {
  reading: 'Reading the files',
  embedding: 'Embedding the passages',
}

export const phaseLabel = ({ format, phase }: Pick<ShownLoad, 'format' | 'phase'>): string =>
  (format === 'documents' && DOCUMENT_PHASES[phase ?? 'reading']) || PHASE_LABELS[phase ?? 'reading']

export function loadBadge({ state, waits_for }: ShownLoad) {
  if (state === 'succeeded') return badge('Loaded', 'on')
  if (state === 'failed') return badge('Failed', 'bad')
  if (state === 'canceled') return badge('Canceled', 'off')
  if (state === 'uploading') return badge('Uploaded', 'wait')
  return badge(waits_for === null ? 'Loading' : 'Waiting', 'wait')
}

/** Of the whole, from 0 to 100: embedding takes nearly all of the time. */
export function percentOf({ phase, read_bytes, bytes, embedded, rows }: ShownLoad): number {
  switch (phase) {
    case 'reading':
      return Math.floor((10 * read_bytes) / Math.max(1, bytes))
    case 'checking':
      return 10
    case 'embedding':
      return 10 + Math.floor((80 * embedded) / Math.max(1, rows))
    case 'indexing':
      return 90
    case 'finishing':
      return 98
    case null:
      return 0
  }
}
