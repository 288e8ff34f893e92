/** What the chart renders, asked of the schemas of Kubernetes. They find wrong types and missing fields. */
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler'
import { Job } from 'kubernetes-models/batch/v1/Job'
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { ClusterRole } from 'kubernetes-models/rbac.authorization.k8s.io/v1/ClusterRole'
import { ClusterRoleBinding } from 'kubernetes-models/rbac.authorization.k8s.io/v1/ClusterRoleBinding'
import { Secret } from 'kubernetes-models/v1/Secret'
import { Service } from 'kubernetes-models/v1/Service'
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { renderChart } from '../support/chart/render-chart.ts'
import { EVERYTHING, HOSTED, SMALLEST } from '../support/chart/values.ts'

type Kind = new (data: never) => { validate(): void }
const KINDS: { readonly [apiVersionAndKind: string]: Kind } = {
  'apps/v1 Deployment': Deployment,
  'autoscaling/v2 HorizontalPodAutoscaler': HorizontalPodAutoscaler,
  'batch/v1 Job': Job,
  'networking.k8s.io/v1 Ingress': Ingress,
  'networking.k8s.io/v1 NetworkPolicy': NetworkPolicy,
  'policy/v1 PodDisruptionBudget': PodDisruptionBudget,
  'rbac.authorization.k8s.io/v1 ClusterRole': ClusterRole,
  'rbac.authorization.k8s.io/v1 ClusterRoleBinding': ClusterRoleBinding,
  'v1 Secret': Secret,
  'v1 Service': Service,
  'v1 ServiceAccount': ServiceAccount,
}

type KubeObject = { apiVersion: string; kind: string; metadata: { name: string } }

const objects = [SMALLEST, EVERYTHING, HOSTED].flatMap((values) =>
  [...renderChart(values).files.values()].flatMap((text) =>
    parseAllDocuments(text).map((document) => document.toJS() as KubeObject),
  ),
)

test('every object is valid', () => {
  for (const object of objects) {
    const { apiVersion, kind, metadata } = object
    const known = KINDS[`${apiVersion} ${kind}`]
    if (!known) throw new Error(`${apiVersion} ${kind} is not among the kinds that are checked`)
    expect(() => new known(object as never).validate(), `${kind} ${metadata.name}`).not.toThrow()
  }
})

test('every kind that is checked is rendered', () => {
  const rendered = new Set(objects.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`))
  expect(Object.keys(KINDS).filter((kind) => !rendered.has(kind))).toEqual([])
})

test('an object that is not valid is seen', () => {
  const broken = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'x' },
    spec: { replicas: 'two' },
  }
  expect(() => new Deployment(broken as never).validate()).toThrow(/replicas|selector/)
})
