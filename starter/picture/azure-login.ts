import { readCloud } from '../../activities/azure/access/azure-config.ts'
import { type AzureIdentity, azureIdentity } from '../../activities/azure/access/azure-identity.ts'
import { tryToken } from '../../activities/azure/arm/access-token.ts'
import type { Cloud } from '../../activities/azure/arm/clouds.ts'
import { type AzureLogin, readAzureLogin } from '../../api/config.ts'
import { ReportedError } from '../document/reported-error.ts'
import { ArmSession, versions } from './arm-reader.ts'

/** The Azure CLI starts slowly. */
const tokenMs = 30_000

/** A person at Azure, and the subscription to look in. */
export interface Login {
  readonly arm: ArmSession
  readonly cloud: Cloud
  readonly subscriptionId: string
}

interface Subscription {
  readonly subscriptionId?: string
  readonly displayName?: string
}

/**
 * Logs in with the credential that the environment or the Azure CLI has. The subscription is the asked one, else that of the environment, else the only one
 * that the login can see. Errors: ReportedError with the remedy.
 */
export async function logIn(asked: string | undefined, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Login> {
  const parsed = readAzureLogin(env)
  if (parsed.kind === 'errors') throw new ReportedError(...parsed.errors)
  const cloud = await readCloud(parsed.config)
  const identity = identityOf(parsed.config, cloud, env)
  const token = await tryToken(identity, tokenMs)
  if (token.kind === 'failed')
    throw new ReportedError(
      `credential "${identity.kind}" (${identity.because}): ${token.message}; ${identity.kind === 'managed identity' ? 'install the Azure CLI and run: az login; or ' : 'run: '}${token.remedy}`,
    )
  const arm = new ArmSession(cloud.armEndpoint, identity.credential, identity.scope)
  const subscriptionId = asked ?? parsed.config.ARM_SUBSCRIPTION_ID ?? (await onlySubscription(arm, signal))
  return { arm, cloud, subscriptionId }
}

function identityOf(config: AzureLogin, cloud: Cloud, env: NodeJS.ProcessEnv): AzureIdentity {
  try {
    return azureIdentity(config, cloud, env)
  } catch (error) {
    throw new ReportedError((error as Error).message)
  }
}

async function onlySubscription(arm: ArmSession, signal: AbortSignal): Promise<string> {
  const found = await arm.list<Subscription>(`/subscriptions?api-version=${versions.subscriptions}`, signal)
  const [first] = found
  if (first?.subscriptionId === undefined)
    throw new ReportedError(
      '--subscription: the login sees no subscription; log in to the tenant of the cluster: az login --tenant TENANT-ID',
    )
  if (found.length === 1) return first.subscriptionId
  const names = found.map(({ subscriptionId, displayName }) => `${subscriptionId} (${displayName})`)
  throw new ReportedError(
    `--subscription: the login sees ${found.length} subscriptions: ${names.join(', ')}; add --subscription with the one of the cluster, such as "$(az account show --query id --output tsv)"`,
  )
}
