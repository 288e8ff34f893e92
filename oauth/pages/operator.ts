/** What the operator's pages share: the token that opens them, and the way from one to another. */
import { html } from 'hono/html'
import { notFound, ServiceError } from '../../src/contracts/errors.ts'
import { standbyWarnings } from '../../src/cores/installation/index.ts'
import type { HttpContext } from '../../src/http/context.ts'
import { button, inputField, notice, problemNotice } from '../../src/pages/parts.ts'
import type { Content } from '../../src/pages/skeleton.ts'
import { hiddenFields, readForm } from '../browser-session.ts'
import type { AuthDeps } from '../dependencies.ts'
import { isOperator, startOperatorSession } from '../operator-session.ts'
import { page } from './page.ts'

export const OPERATOR_PAGES = {
  registrations: { path: '/auth/operator/registrations', title: 'Client registrations' },
  'message-queue': { path: '/auth/operator/message-queue', title: 'Message queue' },
  'workload-identity': { path: '/auth/operator/workload-identity', title: 'Workload identity' },
} as const
type OperatorPage = keyof typeof OPERATOR_PAGES

/** Without a token in the configuration there is no such page; without the token it asks for it. */
export const operatorPage =
  (
    name: OperatorPage,
    show: (deps: AuthDeps, c: HttpContext) => Promise<{ readonly lead: string; readonly body: Content }>,
  ) =>
  async (deps: AuthDeps, c: HttpContext) => {
    if (deps.operatorToken === undefined) throw notFound()
    if (!isOperator(deps, c)) return tokenPage(deps, c, name)
    const { lead, body } = await show(deps, c)
    const known = [...(await standbyWarnings(deps.db)), ...(deps.admission?.warnings() ?? [])]
    const warnings = known.map((text) => notice('problem', text))
    return page(c, {
      title: OPERATOR_PAGES[name].title,
      lead,
      body: html`${links(name)} ${warnings} ${body}`,
    })
  }

const links = (current: OperatorPage) =>
  html`<nav aria-label="Operator pages">
    ${Object.entries(OPERATOR_PAGES)
      .filter(([name]) => name !== current)
      .map(([, { path, title }]) => html`<a href="${path}">${title}</a>`)}
  </nav>`

const tokenPage = (deps: AuthDeps, c: HttpContext, next: OperatorPage, problem?: ServiceError) =>
  page(c, {
    title: 'Operator',
    lead: 'Enter the operator token of this installation (SVC_OPERATOR_TOKEN). It opens this page for 15 minutes.',
    problem,
    body: html`${problemNotice(problem)}
      <form method="post" action="/auth/operator" class="card">
        ${hiddenFields(deps, c, { next })}
        ${inputField({
          name: 'token',
          label: 'Operator token',
          type: 'password',
          autocomplete: 'off',
          required: true,
        })}
        ${button('Continue')}
      </form>`,
  })

export async function submitOperatorToken(deps: AuthDeps, c: HttpContext) {
  if (deps.operatorToken === undefined) throw notFound()
  const { token = '', next = '' } = await readForm(deps, c)
  const name = Object.hasOwn(OPERATOR_PAGES, next) ? (next as OperatorPage) : 'registrations'
  if (!(await startOperatorSession(deps, c, token))) {
    return tokenPage(deps, c, name, new ServiceError('UNAUTHENTICATED', 'The operator token is wrong'))
  }
  return c.redirect(OPERATOR_PAGES[name].path, 303)
}
