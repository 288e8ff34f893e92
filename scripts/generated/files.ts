/** Every file that `npm run generate` writes without a database, and how; a test compares them with what is committed. */
import { errorsPage } from './errors-page.ts'

export type GeneratedFile = { path: string; text: () => string }

export const GENERATED_FILES: readonly GeneratedFile[] = [{ path: 'docs/errors.md', text: errorsPage }]
