import type { AzureIdentity } from '../../../activities/azure/access/azure-identity.ts'
import type { Cloud } from '../../../activities/azure/arm/clouds.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { Config } from '../../../api/config.ts'
import type { ArmReader } from '../../picture/arm-reader.ts'
import type { TemporalSettings } from '../../temporal/settings.ts'
import type { Pools } from '../shared/buyable.ts'

/** What checks look at, and with whose eyes. */
export interface DoctorContext {
  readonly config: Config
  readonly temporal: TemporalSettings
  /** Why nothing leads to Temporal from here. */
  readonly unreached: string | undefined
  readonly cloud: Cloud
  readonly identity: AzureIdentity
  readonly arm: ArmReader
  readonly kubernetes: KubernetesClient
  /** What the identity is called at Azure; undefined until a token was had, or when none came. */
  readonly owner: Promise<{ readonly objectId: string; readonly clientId: string } | undefined>
  /** What the cluster's NodePools and AKSNodeClasses are; read once for all checks. */
  readonly pools: () => Promise<Pools>
  readonly now: () => number
}

/** The id of the node resource group. */
export function groupId({ ARM_SUBSCRIPTION_ID: subscription, AZURE_NODE_RESOURCE_GROUP: group }: Config): string {
  return `/subscriptions/${subscription}/resourceGroups/${group}`
}

/** A command that gives Joiner's identity a role. Where no token said who that is, it says how to find out. */
export async function roleAssignment(
  { owner, identity }: Pick<DoctorContext, 'owner' | 'identity'>,
  role: string,
  scope: string,
): Promise<string> {
  const { objectId } = (await owner) ?? {}
  const assignee = objectId
    ? `--assignee-object-id ${objectId} --assignee-principal-type ServicePrincipal`
    : `--assignee ${identity.settings.clientId ?? 'CLIENT-ID-OF-JOINERS-IDENTITY'}`
  return `az role assignment create ${assignee} --role "${role}" --scope "${scope}"`
}
