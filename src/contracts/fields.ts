/** Fields that several contracts share. */
import * as z from 'zod'
import { field } from './field.ts'
import { AUDIENCES, SCOPE_NAMES } from './scopes.ts'

/** Control and bidirectional characters can make a name look like another one. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/u

export const DisplayName = field(
  z
    .string()
    .trim()
    .min(1)
    .max(120)
    .refine((text) => !INVISIBLE.test(text), 'must not contain control or invisible characters'),
  { client: 'Display name' },
)
/** Of what acts by itself. */
export const PurposeName = field(DisplayName, { hint: 'What it is for, such as “Nightly report”.' })

/** Compared in lower case everywhere, so it is stored that way. */
export const Email = z.string().trim().toLowerCase().max(254).pipe(z.email())

/** RFC 6761: no mail arrives below these. The generated address of a first owner ends so, and one that was lost. */
export const receivesMail = (email: string): boolean => !/[@.](localhost|invalid)$/.test(email)

/** By name: an offset does not change with daylight saving time. One that was stored before is shown, and keeps to its times. */
export const Timezone = field(
  z.string().max(64).refine(isTimezone, 'must be a time zone such as Europe/Vienna or UTC'),
  {
    label: 'Time zone',
    suggestions: () => ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')],
    client: { value: 'zone', summary: 'Such as Europe/Vienna' },
  },
)

function isTimezone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** For people who type a time. */
export const TIME_EXAMPLE = 'such as 2026-11-15 or 2026-11-15T08:00:00Z'
export const START_TIME = `Start time, ${TIME_EXAMPLE}`
/** A list is asked for a time range by them. */
export const fromTo = {
  from: field(z.iso.datetime().optional(), { client: START_TIME }),
  to: field(z.iso.datetime().optional(), { client: 'End time' }),
}
export const Time = z.iso.datetime().describe('UTC.')

/** Of a period that is asked for: there is nothing before, and the database knows no year 0. */
export const PeriodTime = z.iso.datetime().refine((time) => Date.parse(time) >= 0, 'must be 1970 or later')
export const ScopeName = z.enum(SCOPE_NAMES)
export const AudienceName = z.enum(AUDIENCES)
export const Secret = z.string().min(1).max(512)

/** An answer without content. */
export const Nothing = z.object({})

export const ClaimId = z
  .string()
  .regex(/^[\w-]{8,64}$/, 'must be 8 to 64 letters, digits, _ and -')
  .describe('A random value of your own: repeating a claim whose answer was lost gives the same one.')
