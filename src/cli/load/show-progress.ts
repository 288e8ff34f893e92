/** How far a load is: a line that is written over at a terminal, a line for each phase elsewhere. */
import { byteSize } from '../../contracts/byte-size.ts'
import type { CommandContext } from '../command-context.ts'
import { sanitizeLine } from '../terminal-text.ts'
import type { Load } from './upload-file.ts'

export function showProgress({ settings, environment, info }: CommandContext) {
  const isLive = settings.interactive && settings.color
  let last = ''
  return {
    show: (load: Load): void => {
      const { line, phase } = describeProgress(load)
      if (isLive) environment.stderr.write(`\r\u001b[K${sanitizeLine(line)}`)
      else if (phase !== last) info(line)
      last = phase
    },
    end: (): void => {
      if (isLive) environment.stderr.write('\r\u001b[K')
    },
  }
}

/** `phase` stays the same while only numbers change. */
function describeProgress(load: Load): { line: string; phase: string } {
  const { state, phase, waits_for, waits_until } = load
  if (state === 'uploading') {
    return { line: `Uploading ${byteSize(load.received)} of ${byteSize(load.bytes)}`, phase: state }
  }
  if (waits_for !== null) {
    const until = waits_until ? ` It goes on at ${waits_until.slice(0, 16).replace('T', ' ')} UTC.` : ''
    return { line: `Waiting. ${waits_for}${until}`, phase: `waiting: ${waits_for}` }
  }
  if (state !== 'running' || phase === null) return { line: state, phase: state }
  return { line: PHASES[phase](load), phase }
}

const PHASES: Record<NonNullable<Load['phase']>, (load: Load) => string> = {
  reading: ({ read_bytes, bytes }) => `Reading ${Math.floor((100 * read_bytes) / Math.max(bytes, 1))} %`,
  checking: ({ rows }) => `Checking ${rows.toLocaleString('en')} rows`,
  embedding: ({ embedded, rows, format, choices }) =>
    `${choices?.embed_columns.length === 0 ? 'Storing' : 'Embedding'} ${embedded.toLocaleString('en')} of ${rows.toLocaleString('en')} ${format === 'documents' ? 'passages' : 'rows'}`,
  indexing: () => 'Building indexes',
  finishing: () => 'Finishing',
}
