/** A found row as a model reads it: its columns by name, without what the search itself wrote beside them. */
import type { Hit } from '../../src/contracts/data-sources.ts'

/** The second column is shown as a title, whatever it holds. */
export const TITLE_CHARACTERS = 300

const OURS: ReadonlySet<string> = new Set(['_score', '_target', '_mode', '_handle', '_source'])

export const rowText = ({ metadata }: Hit): string =>
  Object.entries(metadata)
    .filter(([name]) => !OURS.has(name))
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n')
