/** The journal of endings of this process, where the operator has named a folder for one. */
import type { Clock, Log } from '../cores/dependencies.ts'
import type { EndingsJournal } from '../cores/endings/index.ts'
import { dataKeys } from '../trust/data-key.ts'
import type { Config } from './config.ts'

export async function openJournal(
  { ENDINGS_JOURNAL: folder, DATA_KEY }: Config,
  deps: { readonly clock: Clock } & Log,
): Promise<EndingsJournal | undefined> {
  if (folder === undefined) return undefined
  const { openJournalFolder } = await import('../adapters/endings/journal-folder.ts')
  // The settings are refused without the key.
  return openJournalFolder(folder, { ...deps, sealing: dataKeys(DATA_KEY!).sealerFor('endings-journal') })
}
