/** `svc notifications …`, where a command does more than one call or prints more than its answer. */
import type { Output } from '../../contracts/operations.ts'
import { fieldsOf } from '../cells.ts'
import type { Run } from '../command.ts'
import { declared } from '../declared.ts'
import { operationInput } from '../operation-input.ts'
import { argument, isSet, textOption } from '../options.ts'
import { confirm, secretOption } from '../prompt.ts'
import { printAnswer } from '../run-operation.ts'

const DELIVERY = declared('notifications show')

export const showDelivery: Run = async (ctx, input) => {
  const found = await ctx.callOperation(
    'showDelivery',
    await operationInput<'showDelivery'>(ctx, input, DELIVERY),
  )
  const attempts = found.attempts_made.map((attempt) => [`attempt ${attempt.number}`, formatAttempt(attempt)])
  ctx.print(found, { fields: { ...fieldsOf(found, DELIVERY.call.fields!), ...Object.fromEntries(attempts) } })
}

/** On one line; `--json` has all that is kept. */
const RESPONSE_SHOWN = 80

const formatAttempt = (attempt: Output<'showDelivery'>['attempts_made'][number]): string =>
  [
    attempt.started_at,
    attempt.outcome ?? 'no response yet',
    attempt.reason,
    attempt.http_status,
    attempt.duration_ms !== null && `${attempt.duration_ms} ms`,
    attempt.response !== null && JSON.stringify(attempt.response.slice(0, RESPONSE_SHOWN)),
  ]
    .filter((part) => part !== null && part !== false)
    .join(' ')

const RECOVER = declared('notifications recover')

export const recover: Run = async (ctx, input) => {
  const given = await operationInput<'recoverDeliveries'>(ctx, input, RECOVER)
  const warning = given.include_unconfirmed === false ? '' : '; what is unconfirmed may arrive twice'
  await confirm(
    ctx,
    input,
    `This sends again what ${given.integration_id} missed since ${given.since}${warning}.`,
  )
  printAnswer(ctx, RECOVER, await ctx.callOperation('recoverDeliveries', given), given)
}

/** Its table has what all of them have. */
const INTEGRATIONS = declared('notifications integrations')

export const connect: Run = async (ctx, input) => {
  const name = argument(input, 'name')
  const address = textOption(input, 'email')
  if (address !== undefined) {
    const email = await ctx.callOperation('connectEmail', { name, address })
    printAnswer(ctx, INTEGRATIONS, email)
    return ctx.info('A link was sent to the address. Nothing else is before it is confirmed.')
  }
  const url = await secretOption(ctx, input, 'url', 'Webhook URL')
  const integration = { name, url }
  const created = isSet(input, 'chat')
    ? await ctx.callOperation('connectChatWebhook', integration)
    : await ctx.callOperation('connectWebhook', integration)
  printAnswer(ctx, INTEGRATIONS, created)
}
