/** Choosing a member: by email address, with suggestions. Works for any number of members, and without scripts. */
import { ServiceError } from '../contracts/errors.ts'
import { PAGE_MAX } from '../contracts/limits.ts'
import { listMembers } from '../contracts/members.ts'
import { inputField, type Content } from '../pages/parts.ts'
import type { Refused } from './fields.ts'
import { text } from './forms.ts'
import { organizationOf, sessionOf, type PageContext } from './context.ts'

type MemberField = {
  name: string
  label: string
  now?: string
  hint?: Content
  refused?: Refused | undefined
}

export async function memberField(c: PageContext, { now = '', refused, ...field }: MemberField) {
  const { members } = await sessionOf(c).call(listMembers, { org_id: organizationOf(c).id, limit: PAGE_MAX })
  return inputField({
    ...field,
    value: refused ? text(refused.form, field.name) : now,
    problem: refused?.problem,
    type: 'email',
    required: true,
    maxlength: 254,
    autocomplete: 'off',
    options: members.map(({ email }) => email),
    placeholder: 'name@example.com',
  })
}

/** Refused like a field of the request, so that it is said next to it. */
export async function findMember(c: PageContext, field: string, submitted: string) {
  const email = submitted.trim().toLowerCase()
  const { members } = await sessionOf(c).call(listMembers, {
    org_id: organizationOf(c).id,
    search: email.slice(0, 120),
    limit: PAGE_MAX,
  })
  const found = members.find((member) => member.email.toLowerCase() === email)
  if (found) return found
  throw new ServiceError('INVALID_REQUEST', undefined, {
    problems: [`${field}: No member has this email address`],
  })
}
