/** The queue of messages for the operator: what waits, what is on its way, and which targets do not answer. */
import * as z from 'zod'
import { Time } from './fields.ts'
import { reading } from './operation.ts'

const QueueFields = {
  due: z.int().describe('Messages whose time has come and that are not on their way yet.'),
  in_flight: z.int().describe('Messages with an attempt that has no outcome yet.'),
  events_waiting: z.int().describe('Events whose deliveries are not made yet.'),
  circuits_open: z.int().describe('Targets that did not answer several times in a row.'),
  waiting_since: Time.nullable().describe('Since when the oldest due message or event waits.'),
}

export const showMessageQueue = reading({
  name: 'showMessageQueue',
  summary: 'Show what waits to be sent, by organization, and which targets do not answer.',
  service: 'api-gateway',
  input: z.object({}),
  output: z.object({
    ...QueueFields,
    organizations: z
      .array(z.object({ id: z.string(), name: z.string().nullable(), ...QueueFields }))
      .describe('Those with anything of it, the one that waits longest first; at most 100.'),
    circuits: z
      .array(
        z.object({
          organization_id: z.string(),
          target: z.string().describe('The id of an integration, or of a person by channel.'),
          unanswered: z.int().describe('Attempts in a row without an answer.'),
          next_probe_at: Time.nullable().describe('When one message is tried again.'),
        }),
      )
      .describe('Targets that get one message at a time until they answer; at most 100.'),
  }),
  access: 'operator',
  http: { method: 'get', path: '/api/v1/admin/message-queue' },
})
