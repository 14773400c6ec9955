import type { KubernetesClient } from '../../activities/kubernetes/client.ts'
import { planPlaces } from '../../activities/planning/plan-store.ts'
import { verdictMapName, verdictShards } from '../../core/disruption/verdict.ts'
import { type Check, fail, ok } from './check.ts'
import type { DoctorContext } from './context.ts'

/** A rule as a Role or ClusterRole has it; `own` stands for the release's namespace. */
interface Right {
  readonly namespace?: 'own' | 'kube-system'
  readonly group: string
  readonly resources: readonly string[]
  readonly names?: readonly string[]
  readonly verbs: readonly string[]
}

const read = ['get', 'list', 'watch'] as const

/** What Joiner does in the cluster: the rules of the chart, which a test compares with this table. */
export const rights: readonly Right[] = [
  { group: 'karpenter.sh', resources: ['nodeclaims'], verbs: [...read, 'create', 'delete', 'patch'] },
  { group: 'karpenter.sh', resources: ['nodepools'], verbs: [...read, 'patch'] },
  { group: 'karpenter.sh', resources: ['nodeclaims/status', 'nodepools/status'], verbs: ['patch'] },
  { group: 'karpenter.sh', resources: ['nodepools/finalizers'], verbs: ['update'] },
  { group: 'karpenter.azure.com', resources: ['aksnodeclasses'], verbs: [...read, 'patch'] },
  { group: 'karpenter.azure.com', resources: ['aksnodeclasses/status'], verbs: ['patch'] },
  { group: '', resources: ['nodes'], verbs: [...read, 'patch', 'delete'] },
  { group: '', resources: ['pods'], verbs: [...read, 'delete'] },
  { group: '', resources: ['pods/eviction'], verbs: ['create'] },
  { group: 'apps', resources: ['daemonsets'], verbs: read },
  { group: 'policy', resources: ['poddisruptionbudgets'], verbs: read },
  { group: 'storage.k8s.io', resources: ['volumeattachments'], verbs: read },
  { group: '', resources: ['persistentvolumeclaims', 'persistentvolumes', 'namespaces'], verbs: read },
  { group: 'storage.k8s.io', resources: ['storageclasses', 'csinodes'], verbs: read },
  { group: '', resources: ['namespaces'], names: ['kube-system', 'own'], verbs: ['get'] },
  { group: '', resources: ['services', 'replicationcontrollers'], verbs: read },
  { group: 'apps', resources: ['replicasets', 'statefulsets'], verbs: read },
  { group: 'networking.k8s.io', resources: ['networkpolicies'], verbs: ['list'] },
  { group: 'cilium.io', resources: ['ciliumnetworkpolicies', 'ciliumclusterwidenetworkpolicies'], verbs: ['list'] },
  { group: 'crd.projectcalico.org', resources: ['networkpolicies', 'globalnetworkpolicies'], verbs: ['list'] },
  { group: '', resources: ['events'], verbs: ['create'] },
  {
    group: 'apiextensions.k8s.io',
    resources: ['customresourcedefinitions'],
    names: ['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh'],
    verbs: [...read, 'patch'],
  },
  { namespace: 'own', group: '', resources: ['configmaps'], verbs: ['create'] },
  {
    namespace: 'own',
    group: '',
    resources: ['configmaps'],
    names: [
      'joiner-pauses',
      'joiner-catalogue',
      'joiner-prices',
      'joiner-unavailable-offerings',
      'joiner-image-versions',
    ],
    verbs: ['get', 'patch'],
  },
  { namespace: 'own', group: '', resources: ['configmaps'], names: planPlaces, verbs: ['get', 'patch', 'delete'] },
  {
    namespace: 'own',
    group: '',
    resources: ['configmaps'],
    names: Array.from({ length: verdictShards }, (_, shard) => verdictMapName(shard)),
    verbs: ['get', 'patch'],
  },
  {
    namespace: 'own',
    group: '',
    resources: ['configmaps'],
    names: ['joiner-unavailable-offerings'],
    verbs: ['list', 'watch'],
  },
  { namespace: 'own', group: '', resources: ['configmaps'], names: ['upcoming-maintenance-window'], verbs: ['get'] },
  { namespace: 'own', group: 'coordination.k8s.io', resources: ['leases'], verbs: ['create'] },
  {
    namespace: 'own',
    group: 'coordination.k8s.io',
    resources: ['leases'],
    names: ['joiner-bridge', 'joiner-planner-fence', 'joiner-disruption-fence'],
    verbs: ['get', 'patch'],
  },
  { namespace: 'own', group: '', resources: ['secrets'], verbs: ['create'] },
  {
    namespace: 'own',
    group: '',
    resources: ['secrets'],
    names: ['joiner-conversion'],
    verbs: ['list', 'watch', 'patch'],
  },
  { namespace: 'kube-system', group: '', resources: ['secrets'], verbs: ['create', 'list', 'delete'] },
]

interface Question {
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly verb: string
  readonly name: string
  readonly namespace: string
}

function questions(ownNamespace: string): readonly Question[] {
  return rights.flatMap(({ namespace = '', group, resources, names = [''], verbs }) =>
    resources.flatMap((text) => {
      const [resource = '', subresource = ''] = text.split('/')
      const where = namespace === 'own' ? ownNamespace : namespace
      return names.flatMap((name) =>
        verbs.map((verb) => ({
          group,
          resource,
          subresource,
          verb,
          name: name === 'own' ? ownNamespace : name,
          namespace: where,
        })),
      )
    }),
  )
}

/** Questions that are asked of the API server at one time. */
const atOnce = 10

/** Whether Joiner's ServiceAccount may do all that Joiner does: asked for itself, or, by somebody else, about it. */
export function rightsCheck({ kubernetes, config }: DoctorContext, serviceAccount: string): Check {
  const namespace = config.JOINER_NAMESPACE
  const user = `system:serviceaccount:${namespace}:${serviceAccount}`
  return {
    name: 'kubernetes rights',
    remedy: `kubectl auth can-i --list --as ${user} --namespace ${namespace}`,
    run: async () => {
      const self = await ownName(kubernetes)
      const asked = questions(namespace)
      const refused: Question[] = []
      for (let i = 0; i < asked.length; i += atOnce) {
        const batch = asked.slice(i, i + atOnce)
        const answers = await Promise.all(
          batch.map((question) => isAllowed(kubernetes, question, self === user ? undefined : user)),
        )
        refused.push(...batch.filter((_, at) => answers[at] !== true))
      }
      const whose = `ServiceAccount ${namespace}/${serviceAccount}`
      if (refused.length === 0) return ok(`${whose} may do all ${asked.length} things that Joiner does`)
      return fail(
        `${whose} may not do ${refused.length} of ${asked.length} things that Joiner does`,
        [
          `helm upgrade --install joiner deploy/chart --namespace ${namespace} --reuse-values; it renews the ClusterRole and the Roles "joiner"`,
          `if the ServiceAccount has another name: joiner doctor --service-account NAME`,
        ],
        refused.map(worded),
      )
    },
  }
}

function worded({ group, resource, subresource, verb, name, namespace }: Question): string {
  const what = `${resource}${subresource === '' ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}`
  return `${verb} ${what}${name === '' ? '' : ` ${name}`}${namespace === '' ? '' : ` in ${namespace}`}`
}

async function ownName(kubernetes: KubernetesClient): Promise<string> {
  const review = (await kubernetes.create('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
  })) as { status?: { userInfo?: { username?: string } } }
  return review.status?.userInfo?.username ?? ''
}

async function isAllowed(kubernetes: KubernetesClient, question: Question, user: string | undefined): Promise<boolean> {
  const [, , namespace = '', account = ''] = (user ?? '').split(':')
  const kind = user === undefined ? 'SelfSubjectAccessReview' : 'SubjectAccessReview'
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated']
  const review = (await kubernetes.create(`/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`, {
    apiVersion: 'authorization.k8s.io/v1',
    kind,
    spec: {
      resourceAttributes: { ...question, version: '*' },
      ...(user === undefined || account === '' ? {} : { user, groups }),
    },
  })) as { status?: { allowed?: boolean } }
  return review.status?.allowed === true
}
