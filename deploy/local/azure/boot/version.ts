/** Whether a Kubernetes version is at least so new; a text that is no version is not. */
export function isAtLeast(version: string, major: number, minor: number): boolean {
  const [, ownMajor, ownMinor] = /^v?(\d+)\.(\d+)(?:\.\d+)?(?:[-+].*)?$/.exec(version) ?? []
  if (ownMajor === undefined || ownMinor === undefined) return false
  return Number(ownMajor) > major || (Number(ownMajor) === major && Number(ownMinor) >= minor)
}
