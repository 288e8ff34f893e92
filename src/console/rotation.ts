/** Rotating a credential: the button in its row, what is left of the old value, and the answer with the new one. */
import { html } from 'hono/html'
import * as z from 'zod'
import { rotationInput, type PreviousValue } from '../contracts/rotation.ts'
import { linkButton, notice, type Content } from '../pages/parts.ts'
import { copyable, exactTime, time } from './components.ts'
import type { PageContext } from './context.ts'
import { partOf } from './fields.ts'
import { setFlash } from './flash.ts'
import { attempt, confirmDialog } from './forms.ts'
import { page } from './layout.ts'

const OVERLAPS = [
  { value: '0', label: 'Ends at once' },
  { value: '1', label: 'An hour' },
  { value: '24', label: 'A day' },
  { value: '72', label: 'Three days' },
  { value: '168', label: 'Seven days' },
]
const ROTATE = partOf(z.object(rotationInput), ['overlap_hours'], { overlap_hours: { options: OVERLAPS } })

type Rotated = {
  readonly id: string
  readonly name: string
  readonly action: string
  readonly fields?: Content
}

export const rotateDialog = (c: PageContext, { id, name, action, fields }: Rotated) =>
  confirmDialog(c, {
    id: `rotate-${id}`,
    label: 'Rotate',
    name: `Rotate ${name}`,
    title: `Rotate ${name}?`,
    action,
    text: 'It gets a new value, with the same rights and the same expiry. The one before that ends at once, if it still works.',
    fields: html`${fields} ${ROTATE.show().field('overlap_hours', { id: `overlap-${id}` })}`,
    submit: 'Rotate',
    kind: 'main',
  })

/** In the column "Last used". */
export const lastUsed = (lastUsedAt: string | null, previous: z.output<typeof PreviousValue>) => {
  const now = lastUsedAt === null ? html`<span class="note">Never</span>` : time(lastUsedAt)
  if (previous === null) return now
  const before = previous.last_used_at === null ? 'never used' : html`used ${time(previous.last_used_at)}`
  return html`<div class="two-lines"><span>${now}</span>
    <span class="note">Old value <code>${previous.starts_with}…</code> ${before}, works until ${exactTime(previous.works_until)}</span></div>`
}

/** Does it with the chosen time; refused, it leads back. */
export async function rotate<Done>(
  c: PageContext,
  back: string,
  act: (chosen: ReturnType<typeof ROTATE.read>) => Promise<Done>,
  show: (done: Done) => Response | Promise<Response>,
): Promise<Response> {
  const result = await attempt(async () => act(ROTATE.read(c.get('form'))))
  if (!('problem' in result)) return show(result.done)
  const { message, problems = [] } = result.problem
  setFlash(c, 'problem', [message, ...problems].join('. '))
  return c.redirect(back, 303)
}

type NewValue = {
  readonly name: string
  readonly token: string
  readonly previous: z.output<typeof PreviousValue>
}

/** Shown in this response and nowhere else: not in a cookie, not in an address. */
export const tokenRotated = (c: PageContext, { name, token, previous }: NewValue, back: string) =>
  page(c, {
    title: 'Token rotated',
    body: html`<div class="card">
      ${notice('info', html`<p><strong>Copy it now.</strong> It is not stored and cannot be shown again.</p>`)}
      ${copyable('token', token, `New value of ${name}`)}
      <p>${previous === null ? 'The old value has ended.' : html`The old value works until ${exactTime(previous.works_until)}.`}</p>
      <div class="actions">${linkButton(back, 'Done')}</div>
    </div>`,
  })
