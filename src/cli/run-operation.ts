/** Runs a command that is one operation: reads the input, calls, prints the answer. */
import { fieldsOf, fillText, holds, tableView, valueAt } from './cells.ts'
import type { CommandContext } from './command-context.ts'
import type { Run } from './command.ts'
import type { Declared } from './operation-call.ts'
import { operationInput } from './operation-input.ts'
import { readPages } from './read-pages.ts'

type Answer = Readonly<Record<string, unknown>>

export const runOperation =
  (declared: Declared): Run =>
  async (ctx, input) => {
    const { operation, pages, rows } = declared.call
    const sent = await operationInput(ctx, input, declared)
    const answer = pages
      ? await readPages(ctx, input, operation, rows as never, sent as never)
      : await ctx.callOperation(operation, sent)
    printAnswer(ctx, declared, answer, { ...input.args, ...sent })
  }

/** As the contract of the command says it; also for what another command of the same operation, or of its thing, did. */
export function printAnswer(
  ctx: CommandContext,
  { call }: Declared,
  answer: object,
  given: Answer = {},
): void {
  const { done, rows, table, fields, notes = [], format } = call
  const shown = answer as Answer
  if (fields) ctx.print(answer, { fields: fieldsOf(shown, fields) }, format)
  if (table) {
    const found = rows === undefined ? undefined : shown[rows]
    ctx.print(answer, tableView(Array.isArray(found) ? (found as Answer[]) : [shown], table), format)
  }
  if (done !== undefined) ctx.info(fillText(done, given, shown))
  for (const note of notes) {
    const { text, if: condition, of, in: only } = typeof note === 'string' ? { text: note } : note
    if (only !== undefined && only !== (ctx.settings.format ?? format ?? 'table')) continue
    for (const one of of === undefined ? [shown] : (valueAt(of, shown) as readonly (Answer | string)[])) {
      if (typeof one === 'string') ctx.info(one)
      else if (condition === undefined || holds(condition, { ...given, ...one }))
        ctx.info(fillText(text, given, one))
    }
  }
}
