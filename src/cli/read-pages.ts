/** Lists come in pages: one of them, or with `--all` every one, and a word on stderr when there is more. */
import { PAGE_MAX } from '../contracts/limits.ts'
import type { Call } from './command.ts'
import { countOption, isSet, textOption } from './options.ts'
import type { World } from './world.ts'

export type Page = { limit?: number; cursor?: string }

export async function readPages<Noun extends string, Row>(
  { say }: World,
  call: Call,
  noun: Noun,
  readPage: (
    page: Page,
  ) => Promise<{ readonly [key in Noun]: readonly Row[] } & { next_cursor?: string | undefined }>,
): Promise<{ [key in Noun]: Row[] } & { next_cursor?: string }> {
  const all = isSet(call, 'all')
  // Fewer requests where every page is wanted anyway.
  const limit = countOption(call, 'limit', PAGE_MAX) ?? (all ? PAGE_MAX : undefined)
  const rows: Row[] = []
  let cursor = textOption(call, 'cursor')
  for (;;) {
    const page = await readPage({ ...(limit && { limit }), ...(cursor !== undefined && { cursor }) })
    rows.push(...page[noun])
    // A server that answers with the same page for ever would hold us for ever.
    cursor = page.next_cursor === cursor ? undefined : page.next_cursor
    if (!all || cursor === undefined) break
  }
  if (cursor === undefined) return { [noun]: rows } as { [key in Noun]: Row[] }
  say(`There is more: add --all, or --cursor ${cursor}`)
  return { [noun]: rows, next_cursor: cursor } as { [key in Noun]: Row[] } & { next_cursor: string }
}
