import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { Json } from '../../../files/cluster-objects.ts'
import { manifestsOf } from '../../../files/source.ts'
import { checkedManifests } from '../manifests.ts'
import { completed } from './complete.ts'

const now = '2026-03-01T12:00:00Z'
const parsed = (yaml: string) => parseAllDocuments(yaml, { merge: true }).map((one) => one.toJS() as unknown)

/** What an API server would hold of these manifests. */
async function held(yaml: string) {
  const manifests = parsed(yaml).flatMap((value) => manifestsOf({ file: 'f', value, lineOf: () => undefined }))
  const { objects, remarks } = completed(await checkedManifests(manifests, true), now)
  const of = (kind: string) => objects.filter((one) => one['kind'] === kind) as unknown as readonly Held[]
  return { of, remarks, pod: of('Pod')[0] as Held, names: of('Pod').map(({ metadata }) => metadata.name) }
}

interface Held extends Json {
  readonly metadata: {
    readonly name: string
    readonly labels: Record<string, string>
    readonly ownerReferences: Json[]
  }
  readonly spec: Json
  readonly status: Json
}

const pod = (spec: string, labels = '{app: web}') =>
  `{apiVersion: v1, kind: Pod, metadata: {name: web, labels: ${labels}}, spec: ${spec}}\n`
const amounts = (text: string) => `{containers: [{name: c, resources: ${text}}]}`

describe('a pod at its creation', () => {
  test.each([
    ['limits become requests', amounts('{limits: {cpu: 6, nvidia.com/gpu: 1}}'), { cpu: 6, 'nvidia.com/gpu': 1 }],
    ['requests stay', amounts('{limits: {cpu: 6, memory: 1Gi}, requests: {cpu: 0}}'), { cpu: 0, memory: '1Gi' }],
    ['no limits', amounts('{requests: {cpu: 1}}'), { cpu: 1 }],
  ])('%s', async (_, spec, requests) => {
    const { pod: made } = await held(pod(spec))
    expect(made.spec).toMatchObject({ containers: [{ resources: { requests } }] })
  })

  test('limits of init containers become requests too', async () => {
    const { pod: made } = await held(
      pod('{containers: [], initContainers: [{name: i, resources: {limits: {cpu: 2}}}]}'),
    )
    expect(made.spec).toMatchObject({ initContainers: [{ resources: { requests: { cpu: 2 } } }] })
  })

  test.each([
    ['alone', '{}', '{limits: {cpu: 6, memory: 4Gi}}', { cpu: 6, memory: '4Gi' }],
    ['below requests of its own', '{}', '{limits: {cpu: 6}, requests: {cpu: 1}}', { cpu: 1 }],
    [
      'beside a container that asks for one of them',
      '{limits: {cpu: 2}}',
      '{limits: {cpu: 6, memory: 4Gi}}',
      { memory: '4Gi' },
    ],
  ])('limits of the whole pod, %s', async (_, own, whole, requests) => {
    const { pod: made } = await held(pod(`{resources: ${whole}, containers: [{name: c, resources: ${own}}]}`))
    expect(made.spec['resources']).toMatchObject({ requests })
    expect(Object.keys((made.spec['resources'] as { requests: object }).requests)).toEqual(Object.keys(requests))
  })

  test.each([
    [
      'without hostNetwork',
      '',
      [
        { containerPort: 80, protocol: 'TCP' },
        { containerPort: 53, hostPort: 5353, protocol: 'UDP' },
      ],
    ],
    [
      'with hostNetwork',
      'hostNetwork: true, ',
      [
        { containerPort: 80, hostPort: 80, protocol: 'TCP' },
        { containerPort: 53, hostPort: 5353, protocol: 'UDP' },
      ],
    ],
  ])('ports %s', async (_, more, ports) => {
    const given = '[{containerPort: 80}, {containerPort: 53, hostPort: 5353, protocol: UDP}]'
    const { pod: made } = await held(pod(`{${more}containers: [{name: c, ports: ${given}}]}`))
    expect(made.spec['containers']).toEqual([{ name: 'c', ports }])
  })

  test.each([
    ['required', 'podAntiAffinity', (term: string) => `{requiredDuringSchedulingIgnoredDuringExecution: [${term}]}`],
    [
      'preferred',
      'podAffinity',
      (term: string) => `{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: ${term}}]}`,
    ],
  ])('label keys of %s %s become expressions, once', async (_, kind, terms) => {
    const term =
      '{topologyKey: zone, labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}, matchLabelKeys: [app, hash, none], mismatchLabelKeys: [team]}'
    const { pod: made } = await held(
      pod(`{affinity: {${kind}: ${terms(term)}}, containers: []}`, '{app: web, hash: x, team: red}'),
    )
    expect(JSON.stringify(made.spec['affinity'])).toContain(
      '"matchExpressions":[{"key":"app","operator":"In","values":["web"]},{"key":"hash","operator":"In","values":["x"]},{"key":"team","operator":"NotIn","values":["red"]}]',
    )
  })

  test('a term without a selector matches nothing, whatever its label keys', async () => {
    const { pod: made } = await held(
      pod(
        '{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, matchLabelKeys: [app]}]}}, containers: []}',
      ),
    )
    expect(JSON.stringify(made.spec['affinity'])).not.toContain('labelSelector')
  })
})

describe('classes that a pod names', () => {
  const kata = `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: kata, overhead: {podFixed: {cpu: 2}},
    scheduling: {nodeSelector: {kata: "yes"}, tolerations: [{key: kata, operator: Exists}]}}\n---\n`

  test('a RuntimeClass adds overhead, node selector and tolerations', async () => {
    const { pod: made, remarks } = await held(
      kata +
        pod(
          '{runtimeClassName: kata, nodeSelector: {disk: ssd}, tolerations: [{key: kata, operator: Exists}], containers: []}',
        ),
    )
    expect(made.spec).toMatchObject({ overhead: { cpu: 2 }, nodeSelector: { disk: 'ssd', kata: 'yes' } })
    expect(made.spec['tolerations']).toEqual([{ key: 'kata', operator: 'Exists' }])
    expect(remarks).toEqual([])
  })

  test('one that contradicts the pod is an error, and one that is not there a remark', async () => {
    await expect(
      held(kata + pod('{runtimeClassName: kata, nodeSelector: {kata: "no"}, containers: []}')),
    ).rejects.toThrow(
      'Pod "default/web": spec.nodeSelector[kata] is "no", and its RuntimeClass "kata" wants "yes", so the API server refuses it; make them equal',
    )
    const { remarks } = await held(pod('{runtimeClassName: gvisor, containers: []}'))
    expect(remarks).toEqual([
      'RuntimeClass "gvisor" is not among the manifests, so its overhead, nodeSelector and tolerations do not count',
    ])
  })

  const priorities = `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: usual}, value: 5, globalDefault: true}
---
`
  test.each([
    ['named', 'priorityClassName: high, ', { priority: 1000, priorityClassName: 'high' }],
    ['the default', '', { priority: 5, priorityClassName: 'usual' }],
    ['of the system', 'priorityClassName: system-node-critical, ', { priority: 2_000_001_000 }],
    ['already there', 'priority: 7, ', { priority: 7 }],
  ])('priority: %s', async (_, more, expected) => {
    const { pod: made } = await held(priorities + pod(`{${more}containers: []}`))
    expect(made.spec).toMatchObject(expected)
  })
})

describe('pods that wait', () => {
  test('for the scheduler, or for their gates to go', async () => {
    const { pod: plain } = await held(pod('{containers: []}'))
    expect(plain.status).toMatchObject({
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', reason: 'Unschedulable' }],
    })
    const { pod: gated, remarks } = await held(pod('{schedulingGates: [{name: quota}], containers: []}'))
    expect(gated.status).toMatchObject({ conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated' }] })
    expect(remarks).toEqual(['pods that take no part, as their scheduling gates hold them back: default/web'])
  })
})

describe('claims', () => {
  const storageClass = (name: string, mark: string, created: string) =>
    `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: ${name}, creationTimestamp: "${created}", annotations: {storageclass.kubernetes.io/is-default-class: "${mark}"}}, provisioner: disk}\n---\n`
  const classes =
    storageClass('old', 'true', '2026-01-01T00:00:00Z') +
    storageClass('new', 'true', '2026-02-01T00:00:00Z') +
    storageClass('other', 'false', '2026-02-20T00:00:00Z')
  const claim = (spec: string) => `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: ${spec}}\n`

  test.each([
    ['without a class gets the newest default', '{}', 'new'],
    ['with one keeps it', '{storageClassName: other}', 'other'],
    ['that wants none has none', '{storageClassName: ""}', ''],
    ['of a volume has none', '{volumeName: v}', undefined],
  ])('a claim %s', async (_, spec, expected) => {
    const { of } = await held(classes + claim(spec))
    expect(of('PersistentVolumeClaim')[0]?.spec['storageClassName']).toBe(expected)
  })

  test('ephemeral volumes have claims named after pod and volume', async () => {
    const { of } = await held(
      classes + pod('{containers: [], volumes: [{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {}}}}]}'),
    )
    expect(of('PersistentVolumeClaim')).toMatchObject([
      { metadata: { name: 'web-tmp' }, spec: { storageClassName: 'new' } },
    ])
  })
})

describe('pods of workloads', () => {
  const template = (spec = '{containers: [{name: c, resources: {limits: {cpu: 1}}}]}') =>
    `template: {metadata: {labels: {app: api}}, spec: ${spec}}`
  const workload = (kind: string, spec: string, metadata = '{name: api}') =>
    `{apiVersion: ${/Job/.test(kind) ? 'batch/v1' : kind === 'ReplicationController' ? 'v1' : 'apps/v1'}, kind: ${kind}, metadata: ${metadata}, spec: {${spec}}}\n`
  const selector = 'selector: {matchLabels: {app: api}}'

  test.each([
    ['Deployment', `replicas: 2, ${selector}, ${template()}`, ['api-1', 'api-2']],
    ['Deployment', `${selector}, ${template()}`, ['api-1']],
    ['Deployment', `replicas: 0, ${selector}, ${template()}`, []],
    ['Deployment', `paused: true, ${selector}, ${template()}`, []],
    ['ReplicaSet', `replicas: 2, ${selector}, ${template()}`, ['api-1', 'api-2']],
    ['ReplicationController', template(), ['api-1']],
    ['StatefulSet', `replicas: 2, ${selector}, ${template()}`, ['api-0', 'api-1']],
    ['StatefulSet', `replicas: 2, ordinals: {start: 5}, ${selector}, ${template()}`, ['api-5', 'api-6']],
    ['StatefulSet', `replicas: 2, ordinals: {start: 1.0e+300}, ${selector}, ${template()}`, ['api-1e+300']],
    ['Job', template(), ['api-1']],
    ['Job', `parallelism: 3, ${template()}`, ['api-1', 'api-2', 'api-3']],
    ['Job', `parallelism: 3, completions: 2, ${template()}`, ['api-1', 'api-2']],
    ['Job', `completions: 5, ${template()}`, ['api-1']],
    ['Job', `suspend: true, ${template()}`, []],
    ['CronJob', `jobTemplate: {spec: {parallelism: 2, ${template()}}}`, ['api-1', 'api-2']],
    ['CronJob', `suspend: true, jobTemplate: {spec: {${template()}}}`, []],
  ])('%s {%s}', async (kind, spec, expected) => {
    const { names, of } = await held(workload(kind, spec))
    expect(names).toEqual(expected)
    for (const made of of('Pod')) {
      expect(made).toMatchObject({
        metadata: { namespace: 'default', labels: { app: 'api' } },
        status: { phase: 'Pending' },
      })
      expect(made.spec).toMatchObject({ containers: [{ resources: { requests: { cpu: 1 } } }] })
    }
  })

  test('of a Deployment are those of its ReplicaSet', async () => {
    const { pod: made, of, remarks } = await held(workload('Deployment', `${selector}, ${template()}`))
    const hash = made.metadata.labels['pod-template-hash']
    expect(of('ReplicaSet')).toMatchObject([
      {
        metadata: { name: `api-${hash}` },
        spec: { selector: { matchLabels: { app: 'api', 'pod-template-hash': hash } } },
      },
    ])
    expect(made.metadata.ownerReferences).toMatchObject([{ kind: 'ReplicaSet', name: `api-${hash}`, controller: true }])
    expect(remarks).toEqual(['pods that controllers would make for the workloads were added: default/api-1'])
  })

  test('of a StatefulSet have claims of their own', async () => {
    const { of, pod: made } = await held(
      workload(
        'StatefulSet',
        `${selector}, ${template('{containers: [], volumes: [{name: data, emptyDir: {}}, {name: x, emptyDir: {}}]}')}, volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: disk}}]`,
      ),
    )
    expect(of('PersistentVolumeClaim')).toMatchObject([
      { metadata: { name: 'data-api-0', namespace: 'default' }, spec: { storageClassName: 'disk' } },
    ])
    expect(made.spec['volumes']).toEqual([
      { name: 'x', emptyDir: {} },
      { name: 'data', persistentVolumeClaim: { claimName: 'data-api-0' } },
    ])
  })

  test('of a Deployment differ from those of its other revisions by their hash', async () => {
    const term = '{topologyKey: zone, labelSelector: {}, matchLabelKeys: [pod-template-hash]}'
    const spec = `{containers: [], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [${term}]}}}`
    const { pod: made } = await held(workload('Deployment', `${selector}, ${template(spec)}`))
    const hash = made.metadata.labels['pod-template-hash']
    expect(JSON.stringify(made.spec['affinity'])).toContain(
      `"matchExpressions":[{"key":"pod-template-hash","operator":"In","values":["${hash}"]}]`,
    )
  })

  test('that are there are not added again', async () => {
    const owned = (name: string, kind: string, owner: string, more = '') =>
      `{apiVersion: v1, kind: Pod, metadata: {name: ${name}, labels: {app: api, pod-template-hash: abc}, ownerReferences: [{apiVersion: x, kind: ${kind}, name: ${owner}, uid: u, controller: true}]}, spec: {containers: []}${more}}\n---\n`
    const deployment = workload('Deployment', `replicas: 3, ${selector}, ${template()}`)
    const pods =
      owned('api-abc-x', 'ReplicaSet', 'api-abc') +
      owned('api-abc-y', 'ReplicaSet', 'api-abc') +
      owned('api-abc-z', 'ReplicaSet', 'api-abc', ', status: {phase: Failed}')
    expect((await held(pods + deployment)).names).toEqual(['api-abc-x', 'api-abc-y', 'api-abc-z', 'api-1'])
    const set = workload('StatefulSet', `replicas: 2, ${selector}, ${template()}`)
    expect((await held(owned('api-0', 'StatefulSet', 'api') + set)).names).toEqual(['api-0', 'api-1'])
    const job = workload('Job', `parallelism: 2, ${template()}`)
    expect((await held(owned('api-q', 'Job', 'api') + job)).names).toEqual(['api-q', 'api-1'])
  })

  test('have names of their own', async () => {
    const both = `${workload('Deployment', `${selector}, ${template()}`)}---\n${workload('StatefulSet', `replicas: 2, ${selector}, ${template()}`)}`
    expect((await held(both)).names).toEqual(['api-0', 'api-1', 'api-2'])
  })

  test('of a Job that ended, or whose CronJob runs, are none', async () => {
    const ended = workload('Job', template()).replace(
      /\}\n$/,
      ', status: {conditions: [{type: Complete, status: "True"}]}}\n',
    )
    expect((await held(ended)).names).toEqual([])
    const run = workload(
      'Job',
      template(),
      '{name: nightly-1, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: u, controller: true}]}',
    )
    const cronJob = workload('CronJob', `jobTemplate: {spec: {${template()}}}`, '{name: nightly}')
    expect((await held(`${run}---\n${cronJob}`)).names).toEqual(['nightly-1-1'])
  })

  test('are refused when they are more than a cluster can have', async () => {
    await expect(held(workload('Deployment', `replicas: 1000000000, ${selector}, ${template()}`))).rejects.toThrow(
      'Deployment "default/api": with its 1000000000 pods the manifests ask for more than 150000, as many as Kubernetes supports in a cluster; lower their number',
    )
    await expect(held(workload('Deployment', `replicas: -1, ${selector}, ${template()}`))).rejects.toThrow(
      'spec.replicas is -1; write a whole number of 0 or more',
    )
  })

  test('of a DaemonSet have the defaults of creation', async () => {
    const { of } = await held(
      workload(
        'DaemonSet',
        `${selector}, ${template('{hostNetwork: true, containers: [{name: c, ports: [{containerPort: 9100}], resources: {limits: {cpu: 1}}}]}')}`,
      ),
    )
    expect(of('DaemonSet')[0]?.spec).toMatchObject({
      template: { spec: { containers: [{ ports: [{ hostPort: 9100 }], resources: { requests: { cpu: 1 } } }] } },
    })
  })
})
