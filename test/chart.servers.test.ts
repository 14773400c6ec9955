import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { kindRules } from '../activities/kubernetes/cached-kinds.ts'
import { type Role, readConfig } from '../api/config.ts'
import {
  binding,
  budget,
  chartFolder,
  configOf,
  type Deployment,
  deployment,
  fullValues,
  helm,
  ofShape,
  podEnvironment,
  releaseNamespace,
  renderChart,
  role,
  service,
  smallestValues,
} from './chart.ts'

const admission = 'admissionregistration.k8s.io/v1'
const allRoles: readonly Role[] = ['azure', 'bridge', 'core', 'planner']

interface Case {
  readonly name: string
  readonly values: unknown
  readonly serviceAccount: string
}
const cases: readonly Case[] = [
  { name: 'the smallest values', values: smallestValues, serviceAccount: 'joiner' },
  { name: 'every value set', values: fullValues, serviceAccount: 'scaler' },
]

describe.each(cases)('the chart with $name', ({ values, serviceAccount }) => {
  let manifests: Awaited<ReturnType<typeof renderChart>>
  let deployments: readonly Deployment[]

  beforeAll(async () => {
    manifests = await renderChart(values)
    deployments = ofShape(manifests, ['Deployment'], deployment)
  })

  test('helm lint finds nothing to warn of', async () => {
    const { code, stdout } = await helm(['lint', chartFolder, '--strict'], values)
    expect(stdout).toContain('0 chart(s) failed')
    expect(code).toBe(0)
  })

  test('everything is in the release namespace, of the cluster, or the tokens of kube-system', () => {
    const places = manifests
      .filter(({ apiVersion }) => apiVersion !== admission)
      .map(({ kind, metadata }) => `${metadata.namespace ?? 'cluster'} ${kind}`)
    const elsewhere = places.filter((place) => !place.startsWith(`${releaseNamespace} `))
    expect(elsewhere.toSorted()).toEqual([
      'cluster ClusterRole',
      'cluster ClusterRoleBinding',
      'cluster ClusterRoleBinding',
      'cluster ClusterRoleBinding',
      'kube-system Role',
      'kube-system RoleBinding',
    ])
  })

  test('admission policies warn and never refuse, and one value switches them off', () => {
    const policies = manifests.filter(({ apiVersion }) => apiVersion === admission)
    const isOff = values === fullValues
    expect(policies.map(({ kind, metadata }) => `${metadata.name} ${kind}`).toSorted()).toEqual(
      isOff
        ? []
        : ['joiner-aksnodeclasses', 'joiner-nodepools', 'joiner-unread'].flatMap((name) => [
            `${name} ValidatingAdmissionPolicy`,
            `${name} ValidatingAdmissionPolicyBinding`,
          ]),
    )
    for (const { kind, spec } of policies)
      expect(spec).toMatchObject(
        kind === 'ValidatingAdmissionPolicy' ? { failurePolicy: 'Ignore' } : { validationActions: ['Warn', 'Audit'] },
      )
  })

  test('FIPS is warned of where no shared gallery has its images', async () => {
    const own = values as { readonly azure: object }
    for (const enabled of [false, true]) {
      const sharedGallery = { enabled, subscriptionId: 'aks', tokenServerUrl: 'http://tokens.example' }
      const rendered = await renderChart({ ...own, azure: { ...own.azure, sharedGallery }, admissionWarnings: true })
      const policy = rendered.find(({ metadata }) => metadata.name === 'joiner-aksnodeclasses')
      expect(JSON.stringify(policy).includes('fipsMode')).toBe(!enabled)
    }
  })

  test('no rule has a wildcard', () => {
    const rules = ofShape(manifests, ['Role', 'ClusterRole'], role).flatMap((each) => each.rules)
    expect(rules.length).toBeGreaterThan(0)
    for (const { apiGroups, resources, verbs } of rules)
      expect([...apiGroups, ...resources, ...verbs].filter((each) => each.includes('*'))).toEqual([])
  })

  test('everything that is watched may be read, and what is only read cannot be changed', () => {
    const [cluster] = ofShape(manifests, ['ClusterRole'], role)
    const verbsOf = (resource: string) =>
      (cluster?.rules ?? []).filter(({ resources }) => resources.includes(resource)).flatMap(({ verbs }) => verbs)
    const resources = Object.values(kindRules).map(({ resource }) => resource)
    for (const resource of resources)
      expect(verbsOf(resource)).toEqual(expect.arrayContaining(['get', 'list', 'watch']))
    const changed = new Set(['pods', 'nodes', 'nodeclaims', 'nodepools', 'aksnodeclasses'])
    for (const resource of resources.filter((one) => !changed.has(one)))
      expect(verbsOf(resource)).toEqual(['get', 'list', 'watch'])
  })

  test('of Secrets there are rights to its own one by name, and to the bootstrap tokens of kube-system', () => {
    const onSecrets = ofShape(manifests, ['Role', 'ClusterRole'], role).flatMap(({ kind, metadata, rules }) =>
      rules
        .filter(({ resources }) => resources.some((resource) => resource.startsWith('secrets')))
        .map((rule) => ({ kind, namespace: metadata.namespace, rule })),
    )
    const ownSecret = { kind: 'Role', namespace: releaseNamespace }
    expect(onSecrets).toEqual([
      { ...ownSecret, rule: { apiGroups: [''], resources: ['secrets'], verbs: ['create'] } },
      {
        ...ownSecret,
        rule: {
          apiGroups: [''],
          resources: ['secrets'],
          resourceNames: ['joiner-conversion'],
          verbs: ['list', 'watch', 'patch'],
        },
      },
      {
        kind: 'Role',
        namespace: 'kube-system',
        rule: { apiGroups: [''], resources: ['secrets'], verbs: ['create', 'list', 'delete'] },
      },
    ])
  })

  test("no right leads to more rights, and Joiner's own roles go to its ServiceAccount only", () => {
    const rules = ofShape(manifests, ['Role', 'ClusterRole'], role).flatMap((each) => each.rules)
    expect(rules.flatMap(({ verbs }) => verbs).filter((verb) => /^(escalate|bind|impersonate)$/.test(verb))).toEqual([])
    expect(rules.flatMap(({ apiGroups }) => apiGroups)).not.toContain('rbac.authorization.k8s.io')
    const names = new Set(ofShape(manifests, ['Role', 'ClusterRole'], role).map(({ metadata }) => metadata.name))
    const bindings = ofShape(manifests, ['RoleBinding', 'ClusterRoleBinding'], binding)
    const ours = bindings.filter(({ roleRef }) => names.has(roleRef.name))
    expect(ours).toHaveLength(3)
    for (const { subjects } of ours)
      expect(subjects).toEqual([{ kind: 'ServiceAccount', name: serviceAccount, namespace: releaseNamespace }])
    const others = bindings.filter(({ roleRef }) => !names.has(roleRef.name))
    expect(others.map(({ roleRef, subjects }) => [roleRef.name, subjects.map(({ name }) => name)])).toEqual([
      ['system:node-bootstrapper', ['system:bootstrappers']],
      ['system:certificates.k8s.io:certificatesigningrequests:nodeclient', ['system:bootstrappers']],
    ])
  })

  test('the environment of each Deployment is a configuration, and nothing in it goes unread', () => {
    expect(deployments).toHaveLength(2)
    for (const each of deployments) {
      const environment = podEnvironment(manifests, each)
      const result = readConfig(environment)
      expect(result).toMatchObject({ kind: 'config' })
      // OpenTelemetry's own names are read where traces begin (workers/tracing.ts).
      const read = [...(result.kind === 'config' ? Object.keys(result.config) : []), 'OTEL_EXPORTER_OTLP_ENDPOINT']
      expect(Object.keys(environment).filter((name) => !read.includes(name))).toEqual([])
    }
  })

  test('the Deployments share all roles between them, each once', () => {
    const roles = deployments.flatMap((each) => configOf(manifests, each).JOINER_ROLES)
    expect(roles.toSorted()).toEqual(allRoles)
  })

  test('each Deployment runs a worker under the ServiceAccount and knows itself by its pod', () => {
    for (const each of deployments) {
      const [container] = each.spec.template.spec.containers
      expect(container.command).toBeUndefined()
      expect(container.args).toEqual(['worker'])
      expect(each.spec.template.spec.serviceAccountName).toBe(serviceAccount)
      expect(configOf(manifests, each)).toMatchObject({
        JOINER_NAMESPACE: releaseNamespace,
        JOINER_IDENTITY: `${each.metadata.name}-pod`,
      })
    }
  })

  test('the probes ask the port on which the process serves health', () => {
    for (const each of deployments) {
      const [{ ports, livenessProbe, readinessProbe }] = each.spec.template.spec.containers
      const asked = (name: string) => ports.find((port) => port.name === name)?.containerPort
      const port = configOf(manifests, each).JOINER_HEALTH_PORT
      expect(livenessProbe.httpGet.path).toBe('/healthz')
      expect(readinessProbe.httpGet.path).toBe('/readyz')
      expect([asked(livenessProbe.httpGet.port), asked(readinessProbe.httpGet.port)]).toEqual([port, port])
    }
  })

  test('the API server finds every replica that converts, ready or not, where the CRDs say', async () => {
    const [found] = ofShape(manifests, ['Service'], service)
    expect(found?.metadata).toMatchObject({ name: 'joiner-conversion', namespace: releaseNamespace })
    if (found === undefined) throw new Error('the chart has no Service')
    const { selector, ports, publishNotReadyAddresses } = found.spec
    expect(publishNotReadyAddresses).toBe(true)
    for (const each of deployments) {
      const { metadata, spec } = each.spec.template
      expect(matches(metadata.labels, selector)).toBe(true)
      const target = spec.containers[0].ports.find(({ name }) => name === ports[0].targetPort)?.containerPort
      expect(target).toBe(configOf(manifests, each).JOINER_CONVERSION_PORT)
    }
    for (const name of ['karpenter.sh_nodepools.yaml', 'karpenter.sh_nodeclaims.yaml']) {
      const crd: unknown = parse(await readFile(join(chartFolder, 'crds', name), 'utf8'))
      const named = { name: 'joiner-conversion', port: ports[0].port, path: '/convert' }
      expect(crd).toMatchObject({
        spec: { conversion: { strategy: 'Webhook', webhook: { clientConfig: { service: named } } } },
      })
    }
  })

  test('each Deployment selects its own pods, and one PodDisruptionBudget protects just these', () => {
    const budgets = ofShape(manifests, ['PodDisruptionBudget'], budget)
    expect(budgets).toHaveLength(deployments.length)
    for (const each of deployments) {
      const selecting = (labels: Readonly<Record<string, string>>) =>
        deployments.filter(({ spec }) => matches(spec.template.metadata.labels, labels))
      expect(selecting(each.spec.selector.matchLabels)).toEqual([each])
      const guards = budgets.filter(({ spec }) =>
        matches(each.spec.template.metadata.labels, spec.selector.matchLabels),
      )
      expect(guards).toHaveLength(1)
      expect(guards[0]?.spec.maxUnavailable).toBe(1)
      expect(selecting(guards[0]?.spec.selector.matchLabels ?? {})).toEqual([each])
    }
  })

  test('Joiner never runs on a node that it makes', () => {
    for (const each of deployments)
      expect(each.spec.template.spec).toMatchObject({
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' }] }],
            },
          },
        },
      })
  })
})

test("the chart's CRDs are the generated ones", async () => {
  const generated = fileURLToPath(new URL('../deploy/crds', import.meta.url))
  const [here, there] = await Promise.all([textsOf(join(chartFolder, 'crds')), textsOf(generated)])
  expect(Object.keys(here)).toHaveLength(5)
  expect(here).toEqual(there)
})

function matches(labels: Readonly<Record<string, string>>, selector: Readonly<Record<string, string>>): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value)
}

async function textsOf(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(folder)
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
  )
}
