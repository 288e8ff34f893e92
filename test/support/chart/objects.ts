/** The objects that the chart renders, and what a container of them finds in its environment. */
import { parseAllDocuments } from 'yaml'
import { SECRET_KEYS } from '../../../src/boot/config.ts'
import type { Rendered } from './render-chart.ts'

type KubeObject = {
  kind: string
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> }
  spec: Record<string, unknown>
  stringData?: Record<string, string>
}
type Container = {
  image: string
  env: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[]
  securityContext: Record<string, unknown>
  [more: string]: unknown
}
type PodSpec = { containers: [Container]; automountServiceAccountToken: boolean; [more: string]: unknown }

export const objectsOf = ({ files }: Rendered): KubeObject[] =>
  [...files.values()].flatMap((text) => {
    const documents = parseAllDocuments(text)
    return documents.map((document) => {
      if (document.errors[0]) throw document.errors[0]
      // Secrets and service accounts have none.
      return { spec: {}, ...(document.toJS() as object) } as KubeObject
    })
  })
export const ofKind = (objects: readonly KubeObject[], kind: string): KubeObject[] =>
  objects.filter((object) => object.kind === kind)
export const podOf = (object: KubeObject): PodSpec =>
  (object.spec['template'] as { spec: PodSpec } | undefined)?.spec as PodSpec
export const serviceOf = ({ metadata }: KubeObject): string => metadata.labels['app.kubernetes.io/name'] ?? ''

/** What a container finds in its environment; a Secret that the chart does not make holds something that fits. */
export function environmentOf(
  deployment: KubeObject,
  objects: readonly KubeObject[],
): Record<string, string> {
  const secrets = new Map(ofKind(objects, 'Secret').map((one) => [one.metadata.name, one.stringData ?? {}]))
  return Object.fromEntries(
    podOf(deployment).containers[0].env.map(({ name, value, valueFrom }) => [
      name,
      // As Kubernetes reads it.
      value?.replaceAll('$$', '$') ??
        secrets.get(valueFrom!.secretKeyRef.name)?.[valueFrom!.secretKeyRef.key] ??
        PLAUSIBLE[name] ??
        '',
    ]),
  )
}

const PLAUSIBLE: { readonly [setting: string]: string } = {
  ...Object.fromEntries(SECRET_KEYS.map((name, index) => [name, String(index).repeat(64)])),
  AGENT_RUNNER_SECRET: '9'.repeat(64),
  DATABASE_URL: 'postgres://svc:secret@db.internal:5432/svc',
  MANAGED_DATABASE_URL: 'postgres://svc:secret@db.internal:5432/svc',
  SVC_OPERATOR_TOKEN: 'x'.repeat(32),
  SVC_ADMIN_PASSWORD: 'x'.repeat(15),
  SMTP_URL: 'smtps://mail.example.com',
  GOOGLE_CLIENT_SECRET: 'x',
  MICROSOFT_CLIENT_SECRET: 'x',
  OIDC_CLIENT_SECRET: 'x',
  EMBEDDING_MODELS: '{}',
}
