/** The clothes every page wears: skip link, header with the organization, side bar, footer. */
import type { Context } from 'hono'
import { html } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { ASSETS } from './assets.ts'
import { icon, mark } from './icons.ts'
import { navigationFor } from './navigation.ts'
import { personalForm, initials, notice, ROLE_WORDS, type Content } from './parts.ts'
import { visitOf, type ConsoleEnv } from './visit.ts'

type C = Context<ConsoleEnv>
type Page = { title: string; lead?: Content; actions?: Content; body: Content; status?: ContentfulStatusCode }

/** A page for somebody signed in. */
export function page(c: C, { title, lead, actions, body, status = 200 }: Page) {
  const visit = visitOf(c)
  const { groups, here } = navigationFor(visit, c.req.path)
  return c.html(
    skeleton(
      `${title} · ${visit.organization?.name ?? 'svc'}`,
      html`<header class="top">
          <button type="button" class="button-bare menu-button" popovertarget="navigation" aria-label="Menu">${icon('menu')}</button>
          <a class="brand" href="/console" aria-label="svc console">${mark()}<span>svc</span></a>
          ${organizationMenu(c)} ${personMenu(c)}
        </header>
        <div class="frame">
          <nav id="navigation" popover class="side" aria-label="Main">
            <div class="side-head">
              ${mark()}
              <button type="button" class="button-bare" popovertarget="navigation" popovertargetaction="hide" aria-label="Close menu">${icon('close')}</button>
            </div>
            ${groups.map(
              ({ title, links }) => html`<div class="side-group">
                <p class="side-title" id="nav-${title.toLowerCase()}">${title}</p>
                <ul aria-labelledby="nav-${title.toLowerCase()}">
                  ${links.map(
                    ({ href, label, icon: name }) =>
                      html`<li><a href="${href}" ${href === here && html`aria-current="page"`}>${icon(name)}${label}</a></li>`,
                  )}
                </ul>
              </div>`,
            )}
          </nav>
          <main id="content" tabindex="-1">
            ${visit.flash && notice(visit.flash.kind, html`<p>${visit.flash.text}</p>`)}
            <div class="page-head">
              <div>
                <h1>${title}</h1>
                ${lead && html`<p class="lead">${lead}</p>`}
              </div>
              ${actions && html`<div class="actions">${actions}</div>`}
            </div>
            ${body}
          </main>
        </div>
        ${footer(c)}`,
    ),
    status,
  )
}

/** A page for somebody who is not, or not yet, signed in. */
export const outsidePage = (c: C, { title, lead, body, status = 200 }: Page) =>
  c.html(
    skeleton(
      `${title} · svc`,
      html`<main id="content" class="outside" tabindex="-1">
          <a class="brand" href="/console" aria-label="svc console">${mark()}<span>svc</span></a>
          <h1>${title}</h1>
          ${lead && html`<p class="lead">${lead}</p>`} ${body}
        </main>
        ${footer(c)}`,
    ),
    status,
  )

const skeleton = (title: string, body: Content) => html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${title}</title>
    <link rel="icon" href="${ASSETS.icon.path}" type="image/svg+xml" />
    <link rel="stylesheet" href="${ASSETS.style.path}" />
    <script src="${ASSETS.script.path}" defer></script>
  </head>
  <body>
    <a class="skip" href="#content">Skip to content</a>
    ${body}
  </body>
</html>`

function organizationMenu(c: C) {
  const { organization, organizations } = visitOf(c)
  if (!organization) return html`<span class="top-gap"></span>`
  return html`<span class="top-slash" aria-hidden="true">/</span>
    <details class="menu organization-menu">
      <summary><span class="menu-name">${organization.name}</span> ${icon('chevrons')} <span class="unseen">Switch organization</span></summary>
      <div class="menu-body">
        ${personalForm(
          c,
          '/console/organization',
          organizations.map(
            ({ id, name, role }) =>
              html`<button type="submit" name="org_id" value="${id}" class="menu-item" ${id === organization.id && html`aria-current="true"`}>
                <span class="menu-item-text"><span>${name}</span><span class="note">${ROLE_WORDS[role].label}</span></span>
                ${id === organization.id && icon('check')}
              </button>`,
          ),
        )}
        <a class="menu-item menu-item-last" href="/console/organizations">${icon('building')}All organizations</a>
        <a class="menu-item" href="/console/organizations/new">${icon('plus')}New organization</a>
      </div>
    </details>`
}

function personMenu(c: C) {
  const { user } = visitOf(c).me
  return html`<details class="menu person-menu">
    <summary><span class="avatar" aria-hidden="true">${initials(user.name)}</span> <span class="unseen">You: ${user.name}</span></summary>
    <div class="menu-body">
      <p class="menu-about"><strong>${user.name}</strong><span class="note">${user.email}</span></p>
      <a class="menu-item" href="/console/profile">${icon('person')}Profile and sessions</a>
      ${personalForm(c, '/console/sign-out', html`<button type="submit" class="menu-item">${icon('close')}Sign out</button>`)}
    </div>
  </details>`
}

const footer = (c: C) => html`<footer class="foot"><span>svc ${c.var.needs.version}</span></footer>`
