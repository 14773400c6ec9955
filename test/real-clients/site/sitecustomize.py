# Python runs this before Debian's Azure CLI, for what it cannot be configured to do.
from azure.cli.core.profiles import ResourceType
from azure.cli.core.profiles._shared import AZURE_API_PROFILES
from azure.mgmt.authorization.v2018_01_01_preview.operations import RoleDefinitionsOperations
from azure.mgmt.authorization.v2020_04_01_preview.operations import RoleAssignmentsOperations
from msal.application import ClientApplication

# A login asks login.microsoftonline.com whether it knows the authority; only newer CLIs have a setting against that.
make = ClientApplication.__init__
ClientApplication.__init__ = lambda self, *args, **named: make(self, *args, **{**named, "instance_discovery": False})

# Debian packages the CLI with an older SDK for Microsoft.Compute than it asks for.
AZURE_API_PROFILES["latest"][ResourceType.MGMT_COMPUTE].profile[None] = "2022-08-01"

# And with a newer one for Microsoft.Authorization, which calls this otherwise.
for operations in (RoleAssignmentsOperations, RoleDefinitionsOperations):
    operations.config = property(lambda self: self._config)
