import { compareVersions } from '../../../activities/azure/node-class/kubernetes-version.ts'
import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { Config, Role } from '../../../api/config.ts'
import { type Right, type RightCondition, rights } from '../../../api/rights/rights.ts'
import { type DoctorContext, type Finding, fail, ok, warn, worst } from './check.ts'

interface Question {
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly verb: string
  readonly name: string
  readonly namespace: string
}

function questions(asked: readonly Right[], ownNamespace: string): readonly Question[] {
  const namespaces = { own: ownNamespace, cluster: '', 'kube-system': 'kube-system' } as const
  return asked.flatMap(({ where, group, resources, names = [''], verbs }) =>
    resources.flatMap((text) => {
      const [resource = '', subresource = ''] = text.split('/')
      return names.flatMap((name) =>
        verbs.map((verb) => ({ group, resource, subresource, verb, name, namespace: namespaces[where] })),
      )
    }),
  )
}

/** Questions that are asked of the API server at one time. */
const atOnce = 10

/** A ServiceAccount of the chart, and the roles of its Deployment. */
interface Account {
  readonly name: string
  readonly roles: readonly Role[]
}

/** The chart's ServiceAccounts; the one with an identity at Azure may have a name of its own. */
const accounts = (azureAccount: string): readonly Account[] => [
  { name: 'joiner', roles: ['core', 'bridge'] },
  { name: azureAccount, roles: ['azure'] },
  { name: 'joiner-planner', roles: ['planner'] },
  { name: 'joiner-conversion', roles: ['conversion'] },
]

/**
 * Whether each of Joiner's ServiceAccounts may do what its roles do. One of them can ask for itself only; an administrator asks about all.
 */
export async function examineRights({ kubernetes, config, serviceAccount }: DoctorContext): Promise<Finding> {
  const namespace = config.JOINER_NAMESPACE
  const userOf = ({ name }: Account) => `system:serviceaccount:${namespace}:${name}`
  const all = accounts(serviceAccount)
  const self = await ownName(kubernetes)
  const conditions = conditionsOf(config, await kubernetes.version())
  const asked = ({ roles }: Account) =>
    questions(
      rights.filter(({ to, when }) => roles.some((role) => role === to) && (when === undefined || conditions[when])),
      namespace,
    )
  const own = all.find((account) => userOf(account) === self)
  // A process with roles of several accounts is the only one, and so is its account (the chart's profile `single`).
  if (own !== undefined && config.JOINER_ROLES.length > own.roles.length)
    return examined(kubernetes, own, { namespace, asked: asked({ ...own, roles: config.JOINER_ROLES }) })
  if (own !== undefined) {
    const others = all.filter((account) => account !== own).map(({ name }) => name)
    const found = await examined(kubernetes, own, { namespace, asked: asked(own) })
    return { ...found, details: [...(found.details ?? []), `${self} cannot ask about ${others.join(', ')}`] }
  }
  try {
    return worst(
      await Promise.all(
        all.map((account) =>
          examined(kubernetes, account, { namespace, asked: asked(account), user: userOf(account) }),
        ),
      ),
    )
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 403) throw error
    return warn(`not looked at, since ${self} may not ask about the rights of others`, [
      'run joiner doctor with the rights of an administrator',
    ])
  }
}

function conditionsOf(config: Config, version: string): Readonly<Record<RightCondition, boolean>> {
  return {
    defaultSpread: config.SCHEDULER_CONFIG.length > 0,
    overlays: config.FEATURE_GATES.NodeOverlay,
    buffers: config.FEATURE_GATES.CapacityBuffer,
    dnsServiceIpUnset: config.DNS_SERVICE_IP === undefined,
    localDnsPreferred:
      ['cilium', 'calico'].includes(config.NETWORK_POLICY) && compareVersions(version.replace(/^v/, ''), '1.99.0') >= 0,
    // Its account is none of a process that runs doctor's checks.
    bundledTemporal: config.JOINER_TEMPORAL_BUNDLED,
    uiEnabled: false,
  }
}

interface Examined {
  readonly namespace: string
  readonly asked: readonly Question[]
  /** Whom it is about; undefined: who asks. */
  readonly user?: string
}

async function examined(
  kubernetes: KubernetesClient,
  { name }: Account,
  { namespace, asked, user }: Examined,
): Promise<Finding> {
  const refused: Question[] = []
  for (let i = 0; i < asked.length; i += atOnce) {
    const batch = asked.slice(i, i + atOnce)
    const answers = await Promise.all(batch.map((question) => isAllowed(kubernetes, question, user)))
    refused.push(...batch.filter((_, at) => answers[at] !== true))
  }
  const whose = `ServiceAccount ${namespace}/${name}`
  if (refused.length === 0) return ok(`${whose} may do all ${asked.length} things that its roles do`)
  return fail(
    `${whose} may not do ${refused.length} of ${asked.length} things that its roles do`,
    [
      `helm upgrade --install joiner deploy/chart --namespace ${namespace} --reset-then-reuse-values; it renews Roles and ClusterRoles`,
      'if the ServiceAccount of joiner-azure has another name: joiner doctor --service-account NAME',
    ],
    refused.map(worded),
  )
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
