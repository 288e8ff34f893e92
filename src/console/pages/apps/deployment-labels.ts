/** Labels and paths of deployments. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { DeploymentState } from '../../../contracts/deployment-states.ts'
import type { showDeployment } from '../../../contracts/deployments.ts'
import { badge } from '../../components.ts'
import { appPath } from './app-labels.ts'

export type Deployment = z.output<typeof showDeployment.output>

export const deploymentsPath = (alias: string): string => `${appPath(alias)}/deployments`
export const deploymentPath = (alias: string, id: string): string => `${deploymentsPath(alias)}/${id}`

export const DEPLOYMENT_LABELS: Record<
  DeploymentState,
  { label: string; badge: 'on' | 'off' | 'wait' | 'bad' }
> = {
  queued: { label: 'Queued', badge: 'wait' },
  running: { label: 'Running', badge: 'wait' },
  succeeded: { label: 'Succeeded', badge: 'on' },
  failed: { label: 'Failed', badge: 'bad' },
  cancelled: { label: 'Canceled', badge: 'off' },
}

export const deploymentBadge = (state: DeploymentState, cancelRequested = false) =>
  state === 'running' && cancelRequested
    ? badge('Stopping', 'wait')
    : badge(DEPLOYMENT_LABELS[state].label, DEPLOYMENT_LABELS[state].badge)

/** The end of an id tells it from its neighbors; its start is the time. */
export const shortId = (id: string) =>
  html`<code class="short-id" title="${id}">${id.slice(0, 4)}…${id.slice(-6)}</code>`
