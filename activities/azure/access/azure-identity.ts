import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Logger } from 'pino'
import type { AzureLogin } from '../../../api/config.ts'
import { pauseOf } from '../../abortable-wait.ts'
import { type TokenRequest, tokenLimitMs, tryToken } from '../arm/access-token.ts'
import { armScope, type Cloud } from '../arm/clouds.ts'
import { chooseCredential, createCredential, type IdentitySettings } from '../arm/credentials.ts'

/** Joiner's identity at Azure. */
export interface AzureIdentity extends TokenRequest {
  readonly because: string
}

/** Returns the identity that the settings configure. Errors: the missing setting, and who sets it. */
export function azureIdentity(config: AzureLogin, cloud: Cloud, env: NodeJS.ProcessEnv = process.env): AzureIdentity {
  const settings: IdentitySettings = {
    tenantId: config.AZURE_TENANT_ID,
    clientId: config.AZURE_CLIENT_ID,
    clientSecret: config.AZURE_CLIENT_SECRET,
    federatedTokenFile: config.AZURE_FEDERATED_TOKEN_FILE,
    wanted: config.AZURE_TOKEN_CREDENTIALS,
    identityEndpoint: config.IDENTITY_ENDPOINT,
    isInCluster: config.KUBECONFIG === undefined && env['KUBERNETES_SERVICE_HOST'] !== undefined,
    hasCli: isOnPath('az', env['PATH'] ?? ''),
  }
  const choice = chooseCredential(settings)
  if (choice.kind === 'none') throw new Error(choice.message)
  return {
    credential: createCredential(choice.credential, settings, cloud),
    kind: choice.credential,
    because: choice.because,
    settings,
    scope: armScope(cloud.tokenAudience),
    namespace: config.JOINER_NAMESPACE,
  }
}

function isOnPath(program: string, path: string): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const retryMs = 10_000

/**
 * Requests a token until one comes, and logs its owner; while none comes, the remedy. Resolves with whether there is one: false when
 * the signal fires first.
 */
export async function untilIdentified(identity: AzureIdentity, log: Logger, signal: AbortSignal): Promise<boolean> {
  log.info({ credential: identity.kind, because: identity.because, scope: identity.scope }, 'using Azure credential')
  while (!signal.aborted) {
    const result = await tryToken(identity)
    if (result.kind === 'token') {
      log.info({ credential: identity.kind, ...result.owner, latencyMs: result.ms }, 'obtained Azure access token')
      return true
    }
    log.error(
      { credential: identity.kind, clientId: identity.settings.clientId, scope: identity.scope, err: result.message },
      `Azure gave no access token within ${tokenLimitMs / 1000} s, so no VM can be created or deleted; trying again. ${result.remedy}`,
    )
    await pauseOf(retryMs, signal)
  }
  return false
}
