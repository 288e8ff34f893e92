/** Rotating a credential: it gets a new value, and the one before works for a chosen time. */
import * as z from 'zod'
import { field } from './field.ts'
import { Time } from './fields.ts'
import { ROTATION_HOURS } from './limits.ts'

export const rotationInput = {
  overlap_hours: field(
    z
      .int()
      .min(0)
      .max(ROTATION_HOURS.max)
      .default(ROTATION_HOURS.default)
      .describe(`How long the old value still works, at most ${ROTATION_HOURS.max}. 0: it ends at once.`),
    {
      label: 'The old value works for',
      client: {
        flag: 'overlap',
        value: 'hours',
        summary: `How long the old value still works, 0 to ${ROTATION_HOURS.max} (default ${ROTATION_HOURS.default})`,
      },
    },
  ),
}

export const PreviousValue = z
  .object({
    starts_with: z.string(),
    works_until: Time,
    last_used_at: Time.nullable(),
  })
  .nullable()
  .describe('The value before, while it still works. null: there is none.')

export const ROTATION_NOTES = [
  'Store the new value now: it is not shown again.',
  { if: 'previous', text: 'The old one works until {previous.works_until}.' },
] as const
