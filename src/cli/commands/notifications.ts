/** `svc notifications …`, where a command does more than one call or prints more than its answer. */
import type { Output } from '../../contracts/operations.ts'
import type { Run } from '../command.ts'
import { declared } from '../declared.ts'
import { argument, isSet, textOption, timeOption } from '../options.ts'
import { confirm, secretOption } from '../prompt.ts'
import { printAnswer } from '../run-operation.ts'
import { usageError } from '../usage-error.ts'

export const showDelivery: Run = async (ctx, input) => {
  const found = await ctx.callOperation('showDelivery', { delivery_id: argument(input, 'delivery_id') })
  const { id, type, subject, app, channel, destination, state, reason, replay_of, next_attempt_at } = found
  ctx.print(found, {
    fields: {
      id,
      type,
      subject,
      app,
      channel,
      to: destination,
      state,
      reason,
      replay_of,
      next_attempt_at,
      ...Object.fromEntries(
        found.attempts_made.map((attempt) => [`attempt ${attempt.number}`, formatAttempt(attempt)]),
      ),
    },
  })
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

export const recover: Run = async (ctx, input) => {
  const integration_id = argument(input, 'integration_id')
  const since = timeOption(input, 'since')
  if (since === undefined)
    throw usageError('Missing option --since', `Add --since, such as --since 2026-11-15`)
  const include_unconfirmed = !isSet(input, 'skip-unconfirmed')
  const warning = include_unconfirmed ? '; what is unconfirmed may arrive twice' : ''
  await confirm(ctx, input, `This sends again what ${integration_id} missed since ${since}${warning}.`)
  const started = await ctx.callOperation('recoverDeliveries', { integration_id, since, include_unconfirmed })
  printAnswer(ctx, declared('notifications recover'), started, { integration_id })
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
