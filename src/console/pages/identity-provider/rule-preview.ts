/** A preview of the rules: what a member would get with a client and some claims. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { previewIdentityProviderRules } from '../../../contracts/identity-provider.ts'
import { REFUSALS } from '../../../contracts/identity-provider-states.ts'
import { RESOURCES, SCOPES_OF_OTHERS } from '../../../contracts/scopes.ts'
import { notice } from '../../../pages/parts.ts'
import { pair, roleBadge } from '../../components.ts'
import { sessionOf, type PageContext } from '../../context.ts'
import { formOf } from '../../fields.ts'
import { attempt, formCard, text } from '../../forms.ts'
import { findMember, memberField } from '../../member-field.ts'
import { IDENTITY_PROVIDER } from '../../navigation.ts'
import { principalLabel } from '../agents/client-labels.ts'
import type { AllowedClient } from './provider-clients.ts'
import { CHECKS } from './provider-labels.ts'

type Rights = z.output<typeof previewIdentityProviderRules.output>
export type Previewed = { form: FormData } & ({ name: string; rights: Rights } | { problem: ServiceError })

const PREVIEW = formOf(previewIdentityProviderRules, ['client_id', 'resource', 'claims'], {
  client_id: { label: 'Client' },
  resource: { label: 'Endpoint', options: RESOURCES.map((value) => ({ value, label: `/${value}` })) },
})

export async function previewCard(
  c: PageContext,
  clients: readonly AllowedClient[],
  previewed: Previewed | undefined,
) {
  if (clients.length === 0) return null
  const form = PREVIEW.show({ refused: previewed })
  return html`${previewed && 'rights' in previewed && resultOf(previewed)}
  ${formCard(c, {
    title: 'Preview',
    lead: 'What somebody would get. Nothing is changed.',
    action: `${IDENTITY_PROVIDER}/rules/preview`,
    of: form,
    shown: [...form.shown, 'member'],
    fields: html`<div class="question-parts">
        ${await memberField(c, { name: 'member', label: 'Member', refused: previewed })}
        ${form.field('client_id', { options: clients.map(({ client_id, name }) => ({ value: client_id, label: principalLabel(client_id, name) })) })}
        ${form.field('resource')}
      </div>
      ${form.field('claims')}`,
    submit: 'Preview',
    kind: 'quiet',
  })}`
}

const resultOf = ({ name, rights }: { name: string; rights: Rights }) =>
  notice(
    rights.refusal === null ? 'done' : 'problem',
    html`<p><strong>${rights.refusal === null ? `${name} would be connected.` : `${name} would be refused. ${REFUSALS[rights.refusal]}.`}</strong> ${rights.refusal !== null && CHECKS[rights.refusal].advice}</p>
      <dl class="pairs pairs-narrow">
        ${pair('Decided by', rights.position === null ? 'No rule' : `Rule ${rights.position}`)} ${pair('Role', roleBadge(rights.role))}
        ${
          rights.refusal === null &&
          pair(
            'Can',
            rights.scopes.map(
              (scope) => html`<div>${SCOPES_OF_OTHERS[scope]} <code class="note">${scope}</code></div>`,
            ),
          )
        }
        ${rights.refusal === null && pair('Data sources', rights.sources === null ? 'All they can query' : rights.sources.map(({ name }) => name).join(', ') || 'None')}
      </dl>`,
  )

export async function readPreview(c: PageContext): Promise<Previewed> {
  const form = c.get('form')
  const result = await attempt(async () => {
    const claims = readClaims(text(form, 'claims'))
    const { user_id, name } = await findMember(c, 'member', text(form, 'member'))
    const input = { ...PREVIEW.read(form), user_id, claims }
    return { name, rights: await sessionOf(c).call(previewIdentityProviderRules, input) }
  })
  return { form, ...('problem' in result ? result : result.done) }
}

/** `name=value` on each line; a name that is repeated is a list. */
function readClaims(text: string): Record<string, string | string[]> {
  const claims = new Map<string, string[]>()
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '') continue
    const at = line.indexOf('=')
    const [name, value] = [line.slice(0, Math.max(at, 0)).trim(), line.slice(at + 1).trim()]
    if (name === '' || value === '') {
      throw new ServiceError('INVALID_REQUEST', undefined, {
        problems: ['claims: Write one claim a line, such as groups=engineering'],
      })
    }
    claims.set(name, [...(claims.get(name) ?? []), value])
  }
  return Object.fromEntries(
    [...claims].map(([name, values]) => [name, values.length === 1 ? values[0]! : values]),
  )
}
