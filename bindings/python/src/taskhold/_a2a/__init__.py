"""The stores of the official A2A SDK (``a2a-sdk`` 1.x) over a state provider.

``messages`` turns the SDK's protobuf messages into JSON and back without loss, ``listing`` gives pages in the SDK's
order, ``tasks`` has what the stores share, ``stores``, ``stream`` and ``push`` are the SDK's abstract classes.
:mod:`taskhold.a2a` is their public face.
"""
