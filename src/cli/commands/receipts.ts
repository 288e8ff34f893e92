/** `svc agents revoke --receipt` and `svc agents access end`: ends access, and waits until its receipt is final. */
import { fieldsOf, fillText } from '../cells.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import type { ReceiptOf } from '../../contracts/receipt-format.ts'
import { declared } from '../declared.ts'
import { argument } from '../options.ts'
import { confirm } from '../prompt.ts'
import { runOperation } from '../run-operation.ts'
import { sanitizeLine } from '../terminal-text.ts'
import { usageError } from '../usage-error.ts'

/** Asked again so often: a process without a lease takes the longest. */
const WAITS = 4
const WAIT_SECONDS = 25

export const revokeAgent: Run = async (ctx, input) => {
  if (input.options['receipt'] === true) return end(ctx, input, 'agent', argument(input, 'grant_id'))
  if (input.options['dry-run'] === true) throw usageError('--dry-run needs a receipt', 'Add --receipt')
  return runOperation(declared('agents revoke'))(ctx, input)
}

export const endAccess: Run = async (ctx, input) =>
  end(ctx, input, argument(input, 'of') as ReceiptOf, input.args['id'])

async function end(
  ctx: CommandContext,
  input: CommandInput,
  of: ReceiptOf,
  id: string | undefined,
): Promise<void> {
  const isRehearsal = input.options['dry-run'] === true
  if (!isRehearsal)
    await confirm(ctx, input, `This ends access of the ${of.replace('_', ' ')} ${id ?? ''} everywhere.`)
  const begun = await ctx.callOperation('endWithReceipt', {
    of,
    ...(id !== undefined && { id }),
    dry_run: isRehearsal,
  })
  let receipt = begun
  for (let left = WAITS; receipt.state === 'pending' && left > 0; left--)
    receipt = await ctx.callOperation('showReceipt', { receipt_id: begun.id, wait: WAIT_SECONDS })
  ctx.print(receipt, { fields: fieldsOf(receipt, FIELDS) })
  if (isRehearsal) ctx.info('A rehearsal: nothing was ended.')
  for (const one of receipt.remains)
    ctx.info(
      sanitizeLine(
        fillText(
          'Not ended: {read_by} read the connection string of {connection_string}. Rotate it: svc db connect rotate ',
          one,
        ) + one.connection_string.replace(/^db_/, ''),
      ),
    )
  if (receipt.state === 'pending')
    ctx.info(
      `Not final yet: ${receipt.processes.waiting_for} processes. svc agents access receipt ${begun.id}`,
    )
}

const FIELDS = {
  receipt: 'id',
  of: 'of.name',
  ended: 'ended:counts',
  'cut off': 'cut:counts',
  'no byte after': "final_at|'pending'",
}
