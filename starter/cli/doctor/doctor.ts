import { readCloud } from '../../../activities/azure/access/azure-config.ts'
import { azureIdentity } from '../../../activities/azure/access/azure-identity.ts'
import { tryToken } from '../../../activities/azure/arm/access-token.ts'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { KubeconfigSource } from '../../../activities/kubernetes/client/kubeconfig.ts'
import type { Config } from '../../../api/config.ts'
import { ArmReader } from '../../picture/arm-reader.ts'
import type { TemporalSettings } from '../../temporal/settings.ts'
import { type Pools, readPools } from '../shared/buyable.ts'
import { identityCheck, readsCheck, subnetCheck } from './azure-access.ts'
import { actionsCheck } from './azure-roles.ts'
import { imagesCheck, pricesCheck, quotaCheck } from './azure-supply.ts'
import { type Check, type CheckResult, type DoctorContext, runChecks } from './check.ts'
import { apiServerCheck, clocksCheck, conversionCheck } from './cluster.ts'
import { customResourcesCheck } from './custom-resources.ts'
import { instancesCheck, machinesCheck } from './instances.ts'
import { cancellationsCheck, keptDocumentsCheck, lostClaimsCheck, nodesCheck } from './nodes.ts'
import { rightsCheck } from './rights.ts'
import { clusterIdentityCheck, temporalCheck } from './temporal.ts'
import { workflowsCheck } from './workflows.ts'

export interface DoctorInput {
  readonly config: Config
  readonly temporal: TemporalSettings
  /** Why nothing leads to Temporal from here. */
  readonly unreached: string | undefined
  readonly env: NodeJS.ProcessEnv
  /** Undefined: the account of the pod. */
  readonly cluster: KubeconfigSource | undefined
  /** Name of the ServiceAccount with the identity at Azure. */
  readonly serviceAccount: string
  readonly onStart: (names: readonly string[]) => void
  readonly onEnd: (result: CheckResult) => void
}

/**
 * Looks at everything that Joiner needs, changes nothing, and says of each thing how it is and how to fix it. Errors: throws what keeps it
 * from looking at all, such as a kubeconfig that cannot be read.
 */
export async function examine({
  config,
  temporal,
  unreached,
  env,
  cluster,
  serviceAccount,
  onStart,
  onEnd,
}: DoctorInput): Promise<readonly CheckResult[]> {
  const cloud = await readCloud(config)
  const identity = azureIdentity(config, cloud, env)
  const kubernetes = await KubernetesClient.load(cluster)
  try {
    const token = tryToken(identity)
    let pools: Promise<Pools> | undefined
    const context: DoctorContext = {
      config,
      temporal,
      unreached,
      cloud,
      identity,
      arm: new ArmReader(cloud.armEndpoint, identity.credential, identity.scope),
      kubernetes,
      owner: token.then((result) => (result.kind === 'token' ? result.owner : undefined)),
      pools: () => {
        pools ??= readPools(kubernetes)
        return pools
      },
      now: () => Date.now(),
    }
    const checks = checksOf(context, { token, serviceAccount })
    onStart(checks.map(({ name }) => name))
    return await runChecks(checks, onEnd)
  } finally {
    await kubernetes.close()
  }
}

/** What is looked at, in the order in which it is asked; each is reported when it is known. */
function checksOf(
  context: DoctorContext,
  { token, serviceAccount }: Pick<DoctorInput, 'serviceAccount'> & { readonly token: ReturnType<typeof tryToken> },
): readonly Check[] {
  return [
    identityCheck(context, token),
    ...[
      readsCheck(context),
      actionsCheck(context),
      subnetCheck(context),
      quotaCheck(context),
      imagesCheck(context),
      instancesCheck(context),
      machinesCheck(context),
    ].map((check) => withToken(check, context)),
    pricesCheck(context),
    apiServerCheck(context),
    customResourcesCheck(context),
    lostClaimsCheck(context),
    cancellationsCheck(context),
    keptDocumentsCheck(context),
    nodesCheck(context),
    rightsCheck(context, serviceAccount),
    conversionCheck(context),
    temporalCheck(context),
    workflowsCheck(context),
    clusterIdentityCheck(context),
    clocksCheck(context),
  ]
}

/** Without a token ARM says nothing but that: the check is not run, and the one of the identity says why. */
function withToken(check: Check, { owner }: DoctorContext): Check {
  return {
    ...check,
    run: async (signal) => {
      if ((await owner) !== undefined) return check.run(signal)
      return { status: 'fail', summary: 'not looked at: Azure gave no token', remedies: ['fix "identity" first'] }
    },
  }
}
