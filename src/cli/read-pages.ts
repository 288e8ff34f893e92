/** Reads one page of a list, or all with `--all`; stderr says when there are more. */
import { PAGE_MAX } from '../contracts/limits.ts'
import type { Input, Output } from '../contracts/operations.ts'
import type { CommandContext } from './command-context.ts'
import type { CommandInput } from './command.ts'
import { countOption, isSet, textOption } from './options.ts'
import type { REQUESTS } from './requests.ts'

/** `noun` is the field of the result that has the rows. */
export async function readPages<Name extends keyof typeof REQUESTS, Noun extends string & keyof Output<Name>>(
  { callOperation, info }: CommandContext,
  input: CommandInput,
  operation: Name,
  noun: Noun,
  filters: Omit<Input<Name>, 'limit' | 'cursor'>,
): Promise<Pick<Output<Name>, Noun>> {
  const all = isSet(input, 'all')
  // Fewer requests.
  const limit = countOption(input, 'limit', PAGE_MAX) ?? (all ? PAGE_MAX : undefined)
  const rows: unknown[] = []
  let cursor = textOption(input, 'cursor')
  for (;;) {
    const request = { ...filters, limit, cursor } as unknown as Input<Name>
    const page = (await callOperation(operation, request)) as Record<string, unknown>
    rows.push(...(page[noun] as unknown[]))
    const next = page['next_cursor'] as string | undefined
    // A server that repeats its cursor would keep us here forever.
    cursor = next === cursor ? undefined : next
    if (!all || cursor === undefined) break
  }
  if (cursor !== undefined) info(`More results: add --all, or --cursor ${cursor}`)
  return { [noun]: rows, ...(cursor !== undefined && { next_cursor: cursor }) } as unknown as Output<Name>
}
