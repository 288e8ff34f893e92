/** Labels and paths of checks. */
import type * as z from 'zod'
import type { showCheck } from '../../../contracts/checks.ts'
import { tabPath } from './app-tabs.ts'

export type Check = z.output<typeof showCheck.output>
export type Definition = Check['definition']
export type CheckKind = Definition['kind']

export const KIND_LABELS: Readonly<Record<CheckKind, string>> = {
  http: 'An address',
  logs: 'Log lines',
  judge: 'A question about the logs',
}

export const checkPath = (alias: string, id: string): string => `${tabPath(alias, 'checks')}/${id}`

/** What it looks at, in one line. */
export function targetOf(definition: Definition): string {
  switch (definition.kind) {
    case 'http':
      return `${definition.method} ${definition.url}`
    case 'logs':
      return `more than ${definition.max_count} × ${definition.pattern} in ${definition.window_minutes} min`
    case 'judge':
      return definition.question
  }
}
