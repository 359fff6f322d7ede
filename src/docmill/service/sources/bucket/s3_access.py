"""Access to S3 and SQS for one source: with keys of its own, or as the installation."""

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from docmill.errors import MisconfiguredError, NetworkError
from docmill.service.aws.client import AccessKey, AddressInfo, Operations, new_session, open_operations
from docmill.service.notify.guarded_connection import is_public


@dataclass(frozen=True, slots=True)
class S3Access:
    """The access of a source to the services. access_key: None for the identity of the installation.

    endpoint: of another service than AWS. allow_private: also addresses in a private network.
    """

    region: str
    endpoint: str | None
    access_key: AccessKey | None = field(repr=False)
    allow_private: bool

    @asynccontextmanager
    async def operations(self, service: str) -> AsyncGenerator[Operations]:
        """The operations of a service, `s3` or `sqs`, for the length of the block.

        Raises MisconfiguredError for a private address that is not allowed.
        """
        refused = False

        def make_socket(address: AddressInfo) -> socket.socket:
            nonlocal refused
            family, kind, protocol, _, target = address
            if not is_public(str(target[0])):
                refused = True
                raise PermissionError("an address in a private network")
            return socket.socket(family, kind, protocol)

        try:
            async with open_operations(
                new_session(),
                service,
                region=self.region,
                endpoint=self.endpoint,
                access_key=self.access_key,
                make_socket=None if self.allow_private else make_socket,
            ) as operations:
                yield operations
        except NetworkError as error:
            if refused:
                raise MisconfiguredError(
                    "the endpoint lies in a private network; whoever runs this installation can set"
                    " sources.allow_private_addresses"
                ) from error
            raise
