import type { WorkerDeploymentOptions } from '@temporalio/worker'
import type { Config } from '../api/config.ts'
import { type OwnVersion, ownDeployment } from '../starter/bridge/current-version.ts'
import { version } from './build-info.ts'

type VersionConfig = Pick<
  Config,
  'CLUSTER_NAME' | 'JOINER_WORKER_VERSIONING' | 'TEMPORAL_DEPLOYMENT_NAME' | 'TEMPORAL_WORKER_BUILD_ID'
>

/** What Temporal is told of the version of this process, and who makes it the current one. */
export interface WorkerVersioning {
  /** For the worker that runs workflows. Undefined: it is not versioned. */
  readonly options: WorkerDeploymentOptions | undefined
  /** What the bridge's leader keeps current. Undefined: somebody else does, such as Temporal's Worker Controller. */
  readonly own: OwnVersion | undefined
}

/**
 * Off by default. `JOINER_WORKER_VERSIONING` makes Joiner call its deployment `joiner-CLUSTER` and its builds VERSION-DIGEST of the workflow code;
 * the names that Temporal's Worker Controller sets stand before that, and then the controller decides which version is current. Runs follow the
 * current version (`AUTO_UPGRADE`), whose code replays all older histories (ADR 12).
 */
export function workerVersioning(config: VersionConfig, workflowCode: string): WorkerVersioning {
  const ownName = ownDeployment(config.CLUSTER_NAME)
  const { TEMPORAL_DEPLOYMENT_NAME: givenName, TEMPORAL_WORKER_BUILD_ID: givenBuild } = config
  if (givenName !== undefined && givenBuild !== undefined)
    return { options: optionsOf(givenName, givenBuild), own: undefined }
  if (!config.JOINER_WORKER_VERSIONING) return { options: undefined, own: { deploymentName: ownName } }
  const buildId = `${version}-${workflowCode}`
  return { options: optionsOf(ownName, buildId), own: { deploymentName: ownName, buildId } }
}

function optionsOf(deploymentName: string, buildId: string): WorkerDeploymentOptions {
  return {
    version: { deploymentName, buildId },
    useWorkerVersioning: true,
    defaultVersioningBehavior: 'AUTO_UPGRADE',
  }
}
